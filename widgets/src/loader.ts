// The module that anywidget loads for each widget. It is small: anywidget drops all that Python
// sends to a model whose module was not there within two seconds.
import { moduleOf } from "./lib/code_module";
import type { Model } from "./model/store";

interface RenderProps {
  readonly model: Model;
  readonly signal?: AbortSignal;
}

async function render(props: RenderProps): Promise<unknown> {
  const { render } = await moduleOf(String(props.model.get("_front_end")));
  return props.signal?.aborted ? undefined : render(props);
}

export default { render };

// The front end as a text that came with a widget: loaded once in a page, whoever needs it.

export interface Module {
  // biome-ignore lint/suspicious/noExplicitAny: what a host of widgets hands on
  readonly render: (props: any) => unknown;
}

const KEY = Symbol.for("gradviz modules");
const page = globalThis as { [KEY]?: Map<string, Promise<Module>> };

/** The module with this text; one that could not be loaded is tried again when it is next wanted. */
export function moduleOf(code: string): Promise<Module> {
  page[KEY] ??= new Map();
  const modules = page[KEY];
  const known = modules.get(code);
  if (known) return known;
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const loaded = import(address)
    .then((module) => module.default as Module)
    .finally(() => URL.revokeObjectURL(address));
  modules.set(code, loaded);
  loaded.catch(() => modules.delete(code));
  return loaded;
}

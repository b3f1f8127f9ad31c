// Which forms there are: a new one is a file beside this one and a row here.
import type { FormData } from "../../documents/question";
import { choose } from "./choose";
import { click } from "./click";
import { edges } from "./edges";
import { flags } from "./flags";
import type { FormKind } from "./form";
import { order } from "./order";
import { tick } from "./tick";
import { typed } from "./typed";

const FORMS: Readonly<Record<string, unknown>> = {
  ...{ choose, tick, table: flags, typed, order },
  ...{ click, edges },
};

/** Throws a sentence if there is none. */
export function formOf({ kind }: FormData): FormKind {
  const form = Object.hasOwn(FORMS, kind) ? FORMS[kind] : undefined;
  if (!form) throw new Error(`the front end knows no question to "${kind}": run the cell again`);
  return form as FormKind;
}

// Hands a file to the browser, which saves it as it saves every download.
import { html } from "./dom";

export function download(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  html("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

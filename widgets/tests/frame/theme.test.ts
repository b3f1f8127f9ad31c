import { describe, expect, it } from "vitest";
import { pageTheme } from "../../src/frame/theme";

const page = (html: string) => new DOMParser().parseFromString(html, "text/html");

describe("theme of the page", () => {
  it.each([
    ['<body data-jp-theme-light="true">', "light"],
    ['<body data-jp-theme-light="false">', "dark"],
    ['<body class="vscode-dark">', "dark"],
    ['<body class="vscode-light">', "light"],
    ['<body data-vscode-theme-kind="vscode-high-contrast">', "dark"],
    ['<body data-vscode-theme-kind="vscode-high-contrast-light">', "light"],
    ['<html theme="dark"><body>', "dark"],
    ['<html data-theme="light"><body>', "light"],
    ["<body>", undefined],
  ])("of %s is %s", (html, theme) => {
    expect(pageTheme(page(html))).toBe(theme);
  });
});

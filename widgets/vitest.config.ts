import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "jsdom",
    include: ["tests/**/*.test.ts"],
    pool: "threads",
    // A busy machine takes its time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

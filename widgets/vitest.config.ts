import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "jsdom",
    include: ["tests/**/*.test.ts"],
    pool: "threads",
    // The files of a worker share its modules and its jsdom: each cleans up after itself.
    isolate: false,
    // A busy machine takes its time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

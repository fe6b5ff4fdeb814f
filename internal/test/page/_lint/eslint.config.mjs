import js from "@eslint/js";
import globals from "globals";

export default [
  { ...js.configs.recommended, files: ["**/*.mjs"], languageOptions: { globals: globals.browser } },
  { ignores: ["**/vendor/**"] },
];

// Fills the placeholders of a translated text, in the notation of i18next: `Hello {{name}}`.

/** @throws Error where the text has a placeholder without a value */
export function fillTemplate(
  template: string,
  values: Readonly<Record<string, string | number>>,
): string {
  return template.replaceAll(/\{\{(\w+)\}\}/g, (placeholder, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value for ${placeholder} in "${template}"`);
    return String(value);
  });
}

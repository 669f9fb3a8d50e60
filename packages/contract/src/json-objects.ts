/**
 * Whether a value is a JSON object: neither an array nor `null`.
 *
 * @param value A value of any type.
 * @returns True for an object, whose members have any type.
 * @example
 * isObject({ amount: 1250 }); // true
 * isObject([1250]); // false
 */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a JSON object.
 *
 * @param text A text from outside.
 * @returns The object; undefined if the text is not JSON, or is another value of JSON.
 * @example
 * parseJsonObject('{"amount":1250}'); // { amount: 1250 }
 * parseJsonObject('[1250]'); // undefined
 */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

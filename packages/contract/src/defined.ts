/** An object type in which members that can be undefined are optional. */
export type Defined<T extends object> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * Removes the members with the value `undefined`, so that neither the JSON nor the keys include
 * them. `null`, `0`, `''` and `false` stay.
 *
 * @param values The members; each is evaluated.
 * @returns A new object with the members that have a value.
 * @example
 * const { email, phone } = { email: 'a@b.example', phone: undefined };
 * const contact = { name: 'Ada', ...defined({ email, phone }) };
 * // { name: 'Ada', email: 'a@b.example' }
 */
export function defined<T extends object>(values: T): Defined<T> {
  const members = values as Readonly<Record<string, unknown>>;
  const result: Record<string, unknown> = {};
  // Not Object.entries: a sale calls this a dozen times, and each pair would be an array.
  for (const name of Object.keys(members)) {
    if (members[name] !== undefined) result[name] = members[name];
  }
  return result as Defined<T>;
}

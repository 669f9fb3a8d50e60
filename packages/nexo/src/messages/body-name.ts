/** The name of a body, at the level of types. */
import type { categories, MessageTypeOf } from '../table/categories.ts';
import type { Category } from '../table/value-sets.ts';

/** For instance `'PaymentRequest'` for a payment's request. */
export type BodyName<Of extends Category, Type extends MessageTypeOf<Of>> = {
  [Each in Of]: (typeof categories)[Each]['bodies'] extends infer Bodies
    ? Bodies[Type & keyof Bodies]
    : never;
}[Of];

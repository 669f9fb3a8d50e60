/** Messages as a program has them: a header, a body, and what else came in the envelope. */
import { bodyNameOf, type categories, type MessageTypeOf } from '../table/categories.ts';
import type { Structure, StructureName } from '../table/structures.ts';
import type { Category, MessageType } from '../table/value-sets.ts';

/**
 * A message header.
 *
 * Source: nexo Sale to POI 3.0, `MessageHeader`.
 *
 * @example
 * const { SaleID, POIID, ServiceID }: Header = message.header;
 */
export type Header = Structure<'MessageHeader'>;

/**
 * The body of one kind of message.
 *
 * Source: nexo Sale to POI 3.0, message header and body.
 *
 * @example
 * function pay(body: Body<'Payment', 'Request'>): string { return body.PaymentTransaction.AmountsReq.Currency; }
 */
export type Body<Of extends Category, Type extends MessageTypeOf<Of>> =
  BodyName<Of, Type> extends infer Name extends StructureName ? Structure<Name> : never;

/**
 * One kind of message. Its wire form is
 * `{"SaleToPOIRequest":{"MessageHeader":header,"PaymentRequest":body}}`. `more` has the other
 * members beside header and body, and `outside` the members beside the envelope.
 *
 * Source: nexo Sale to POI 3.0, message header and body.
 *
 * @example
 * const message: Message<'Admin', 'Request'> = { header, body: { ServiceIdentification: 'reprint' } };
 */
export type Message<
  Of extends Category = Category,
  Type extends MessageTypeOf<Of> = MessageTypeOf<Of>,
> = {
  readonly header: Header & { readonly MessageCategory: Of; readonly MessageType: Type };
  readonly body: Body<Of, Type>;
  readonly more?: Readonly<Record<string, unknown>>;
  readonly outside?: Readonly<Record<string, unknown>>;
};

/**
 * A message of any kind; {@link isMessage} narrows it.
 *
 * Source: nexo Sale to POI 3.0, message header and body.
 *
 * @example
 * function relay(message: AnyMessage): void { send(writeMessage(message)); }
 */
export type AnyMessage = {
  readonly header: Header;
  readonly body: Readonly<Record<string, unknown>>;
  readonly more?: Readonly<Record<string, unknown>>;
  readonly outside?: Readonly<Record<string, unknown>>;
};

/**
 * Returns whether a message is of one kind, so that its body has its type.
 *
 * Source: nexo Sale to POI 3.0, message header and body.
 *
 * @param message - a message of any kind
 * @param category - a category
 * @param type - a type that the category has
 * @returns true where both are the header's
 * @example
 * if (isMessage(message, 'Payment', 'Response')) show(message.body.Response.Result);
 */
export function isMessage<Of extends Category, Type extends MessageTypeOf<Of>>(
  message: AnyMessage,
  category: Of,
  type: Type,
): message is Message<Of, Type> {
  const { MessageCategory, MessageType } = message.header;
  return MessageCategory === category && MessageType === type;
}

/** The top member of the wire form: notifications travel as requests do. */
export type EnvelopeName = 'SaleToPOIRequest' | 'SaleToPOIResponse';

/** The top member for a type of messages. */
export function envelopeOf(type: MessageType): EnvelopeName {
  return type === 'Response' ? 'SaleToPOIResponse' : 'SaleToPOIRequest';
}

/** The member of the body; the caller has checked that it exists. */
export function bodyMemberOf({ MessageCategory, MessageType }: Header): string {
  return bodyNameOf(MessageCategory, MessageType) ?? `${MessageCategory}${MessageType}`;
}

/** For instance `'PaymentRequest'` for a payment's request. */
type BodyName<Of extends Category, Type extends MessageTypeOf<Of>> = {
  [Each in Of]: (typeof categories)[Each]['bodies'] extends infer Bodies
    ? Bodies[Type & keyof Bodies]
    : never;
}[Of];

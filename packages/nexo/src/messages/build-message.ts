/** Makes messages: requests, notifications, and answers that echo the header of their request. */
import { defined } from '../defined.ts';
import { categoryRules, type MessageTypeOf } from '../table/categories.ts';
import type { Structure } from '../table/structures.ts';
import type { Category, OpenValue } from '../table/value-sets.ts';
import { additionalResponse, type RefusalReason } from './additional-response.ts';
import { type AnyMessage, type Body, type Header, isMessage, type Message } from './message.ts';

/**
 * Sender, receiver and service of a message.
 *
 * Source: nexo Sale to POI 3.0, message header and body.
 *
 * @example
 * const address: Address = { saleId: 'till-3', poiId: 'AXIUM_DX8000-10000001', serviceId: '0K3ZP1' };
 */
export type Address = {
  readonly saleId: string;
  readonly poiId: string;
  /** Required for services; a device message that belongs to a service carries it too. */
  readonly serviceId?: string;
  /** The pair of a device message. */
  readonly deviceId?: string;
  /** Default `3.0`; `3.1` and maker's suffixes are carried as they are given. */
  readonly protocolVersion?: string;
};

type Asking<Of extends Category> = Exclude<MessageTypeOf<Of>, 'Response'>;

/**
 * A request, or a notification for the two categories that have only these.
 *
 * Source: nexo Sale to POI 3.0, `MessageHeader`: ServiceID with services, DeviceID with device messages.
 *
 * @param category - a category
 * @param address - sender, receiver and service
 * @param body - the body of that category
 * @returns a message to {@link writeMessage}
 * @example
 * requestOf('Admin', address, { ServiceIdentification: 'reprint' });
 */
export function requestOf<Of extends Category>(
  category: Of,
  address: Address,
  body: Body<Of, Asking<Of> & MessageTypeOf<Of>>,
): Message<Of, Asking<Of> & MessageTypeOf<Of>> {
  const facts = categoryRules(category);
  const header = {
    ProtocolVersion: address.protocolVersion ?? '3.0',
    MessageClass: facts.class,
    MessageCategory: category,
    MessageType: (facts.bodies.Request === undefined ? 'Notification' : 'Request') as Asking<Of> &
      MessageTypeOf<Of>,
    ...defined({ ServiceID: address.serviceId, DeviceID: address.deviceId }),
    SaleID: address.saleId,
    POIID: address.poiId,
  };
  return { header, body };
}

/**
 * The header of the answer to a header: the same one, but for its type.
 *
 * Source: nexo Sale to POI 3.0, "the response repeats the header".
 *
 * @param header - the header of a request
 * @returns what the answer starts with
 * @example
 * answerHeader(request.header).MessageType; // 'Response'
 */
export function answerHeader(header: Header): Header & { readonly MessageType: 'Response' } {
  return { ...header, MessageType: 'Response' };
}

/**
 * The answer to a request.
 *
 * Source: nexo Sale to POI 3.0, message header and body.
 *
 * @param request - the message that is answered
 * @param body - the body of the response of the same category
 * @returns a message with the request's header and the type `Response`
 * @example
 * answerTo(request, { Response: { Result: 'Success' } });
 */
export function answerTo<Of extends Exclude<Category, 'Abort' | 'Event' | 'InputUpdate'>>(
  request: { readonly header: Header & { readonly MessageCategory: Of } },
  body: Body<Of, 'Response' & MessageTypeOf<Of>>,
): Message<Of, 'Response' & MessageTypeOf<Of>> {
  return {
    header: { ...request.header, MessageType: 'Response' as 'Response' & MessageTypeOf<Of> },
    body,
  };
}

/**
 * Further data of a failure.
 *
 * Source: nexo Sale to POI 3.0, `Response` and the bodies that hold it.
 *
 * @example
 * const facts: FailureFacts = { at: '2026-03-01T10:00:00.000Z', additional: 'no_paper' };
 */
export type FailureFacts = {
  /** The time of the answer, RFC 3339. */
  readonly at: string;
  /** The `refusalReason` of `AdditionalResponse`; default by the condition. */
  readonly additional?: RefusalReason;
  /** The `message` of `AdditionalResponse`; default by the reason. */
  readonly detail?: string;
  /** The terminal's identification of the transaction, where it gave one. */
  readonly transactionId?: string;
};

const withPoiData: readonly Category[] = ['Payment', 'CardAcquisition', 'Loyalty', 'StoredValue'];

/**
 * The answer `Failure` to any request, with what its category needs to be well formed: the sale's data
 * echoed, a result for each requested output. Of a faulty request its header is enough.
 *
 * Source: nexo Sale to POI 3.0, `Response` and the bodies that hold it.
 *
 * @param request - the message, or its header alone
 * @param condition - an `ErrorCondition`
 * @param facts - the time, and further data
 * @returns the answer; undefined for abort requests and notifications, which have none
 * @example
 * failureTo(request, 'Busy', { at: clock() });
 */
export function failureTo(
  request: AnyMessage | Header,
  condition: OpenValue<'ErrorCondition'>,
  facts: FailureFacts,
): AnyMessage | undefined {
  const message = 'header' in request ? request : { header: request, body: {} };
  if (categoryRules(message.header.MessageCategory).bodies.Response === undefined) return undefined;
  const Response: Structure<'Response'> = {
    Result: 'Failure',
    ErrorCondition: condition,
    AdditionalResponse: additionalResponse(condition, facts.additional, facts.detail),
  };
  return { header: answerHeader(message.header), body: failureBody(message, Response, facts) };
}

function failureBody(
  message: AnyMessage,
  Response: Structure<'Response'>,
  { at, transactionId }: FailureFacts,
): Record<string, unknown> {
  const { body } = message;
  if (message.header.MessageCategory === 'Display') return displayFailure(message, Response);
  if (message.header.MessageCategory === 'Input') return { InputResult: inputPart(body, Response) };
  if (message.header.MessageCategory === 'Print') {
    const output = body['PrintOutput'] as Structure<'PrintOutput'> | undefined;
    return { DocumentQualifier: output?.DocumentQualifier ?? 'Document', Response };
  }
  if (message.header.MessageCategory === 'Reconciliation') {
    const reconciliationType = body['ReconciliationType'] ?? 'SaleReconciliation';
    return { Response, ReconciliationType: reconciliationType };
  }
  const saleData = body['SaleData'];
  const identified = withPoiData.includes(message.header.MessageCategory);
  return {
    Response,
    ...defined({ SaleData: saleData }),
    ...(identified && transactionId !== undefined
      ? { POIData: { POITransactionID: { TransactionID: transactionId, TimeStamp: at } } }
      : {}),
  };
}

function displayFailure(
  message: AnyMessage,
  Response: Structure<'Response'>,
): Record<string, unknown> {
  const outputs = isMessage(message, 'Display', 'Request') ? message.body.DisplayOutput : undefined;
  const outputTargets = outputs ?? [{ Device: 'CustomerDisplay', InfoQualify: 'Display' }];
  return {
    OutputResult: outputTargets.map(({ Device, InfoQualify }) => ({
      Device,
      InfoQualify,
      Response,
    })),
  };
}

function inputPart(body: AnyMessage['body'], Response: Structure<'Response'>): unknown {
  const data = body['InputData'] as Structure<'InputData'> | undefined;
  const { Device = 'CustomerInput', InfoQualify = 'Input' } = data ?? {};
  return { Device, InfoQualify, Response };
}

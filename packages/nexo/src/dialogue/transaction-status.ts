/** TransactionStatus: answering it from memory, and reading what it repeats. */
import { defined } from '../defined.ts';
import type { RefusalReason } from '../messages/additional-response.ts';
import { answerTo, failureTo } from '../messages/build-message.ts';
import { type AnyMessage, bodyMemberOf, type Header, type Message } from '../messages/message.ts';
import { categoryRules } from '../table/categories.ts';
import type { Structure } from '../table/structures.ts';
import type { OpenValue } from '../table/value-sets.ts';
import type { ServiceRecord, Services } from './poi-service-records.ts';

type StatusRequest = Message<'TransactionStatus', 'Request'>;

const isRepeated = ({ category }: ServiceRecord): boolean =>
  categoryRules(category).repeated === true;
const wasBegun = (record: ServiceRecord): boolean => isRepeated(record) && record.refused !== true;

/**
 * The answer to a TransactionStatus request. Without a reference it speaks of the last transaction of
 * the sale system that asks. `NotFound` is said of what was never here alone. A transaction whose answer
 * is no longer kept is `NotAllowed`; one without an answer is `InProgress`, also when the terminal was
 * restarted in its middle, until the terminal has found out and finished it.
 */
export function statusAnswer(request: StatusRequest, services: Services, at: string): AnyMessage {
  const record = recordOf(request, services);
  const failureAnswer = (
    condition: OpenValue<'ErrorCondition'>,
    additional?: RefusalReason,
  ): AnyMessage => {
    const facts = { at, ...defined({ additional }) };
    const failure = failureTo(request, condition, facts);
    const { MessageReference } = request.body;
    const reference = defined({ MessageReference });
    return { header: request.header, ...failure, body: { ...failure?.body, ...reference } };
  };
  const category = request.body.MessageReference?.MessageCategory;
  if (category !== undefined && categoryRules(category).repeated !== true)
    return failureAnswer('NotAllowed');
  if (category === 'CardReaderAPDU') return failureAnswer('UnavailableService');
  if (record === undefined) return failureAnswer('NotFound');
  if (record.dropped === true) return failureAnswer('NotAllowed', 'answer_not_kept');
  if (record.answer === undefined) return failureAnswer('InProgress');
  return answerTo(request, {
    Response: { Result: 'Success' },
    MessageReference: referenceTo(record.answer.header),
    RepeatedMessageResponse: {
      MessageHeader: record.answer.header,
      RepeatedResponseMessageBody: { [bodyMemberOf(record.answer.header)]: record.answer.body },
    },
  }) as AnyMessage;
}

function recordOf({ header, body }: StatusRequest, services: Services): ServiceRecord | undefined {
  const { SaleID = header.SaleID, ServiceID, MessageCategory } = body.MessageReference ?? {};
  if (ServiceID === undefined) return services.last(SaleID, wasBegun);
  const service = services.find(SaleID, ServiceID);
  if (service === undefined || !isRepeated(service)) return undefined;
  return MessageCategory === undefined || MessageCategory === service.category
    ? service
    : undefined;
}

/**
 * The reference to a message: how an abort or a status request names it.
 *
 * Source: nexo Sale to POI 3.0, `MessageReference`.
 *
 * @param header - the header of the message that is meant
 * @returns its category and identifications
 * @example
 * requestOf('TransactionStatus', address, { MessageReference: referenceTo(payment.header) });
 */
export function referenceTo(header: Header): Structure<'MessageReference'> {
  const { MessageCategory, ServiceID, DeviceID, SaleID, POIID } = header;
  return {
    MessageCategory,
    ...defined({ ServiceID, DeviceID }),
    SaleID,
    POIID,
  };
}

/**
 * The response that a TransactionStatus response repeats, as if it had come by itself.
 *
 * Source: nexo Sale to POI 3.0, `RepeatedMessageResponse`.
 *
 * @param answer - a TransactionStatus response
 * @returns the repeated message; undefined where there is none, or none of a kind that is repeated
 * @example
 * const payment = repeatedBy(statusAnswer);
 */
export function repeatedBy({
  body,
}: Message<'TransactionStatus', 'Response'>): AnyMessage | undefined {
  const repeated = body.RepeatedMessageResponse;
  if (repeated === undefined) return undefined;
  const header: Header = { ...repeated.MessageHeader, MessageType: 'Response' };
  const bodies: Readonly<Record<string, unknown>> = repeated.RepeatedResponseMessageBody;
  const repeatedBody = bodies[bodyMemberOf(header)];
  if (typeof repeatedBody !== 'object' || repeatedBody === null) return undefined;
  return { header, body: repeatedBody as Readonly<Record<string, unknown>> };
}

/**
 * The key of a request and its response: equal for both headers. The pair of a
 * service is its ServiceID; a DeviceID that a terminal adds is ignored.
 */
export function dialogueKeyOf(header: Header): string {
  const { MessageCategory, MessageClass, SaleID, POIID, ServiceID = '', DeviceID = '' } = header;
  const device = MessageClass === 'Device' ? DeviceID : '';
  return [MessageCategory, SaleID, POIID, ServiceID, device].join('\n');
}

/** The repeated answer must belong to this service, not to the last one. */
export function isRepeatOf(original: Header, repeated: Header): boolean {
  return (
    original.MessageCategory === repeated.MessageCategory &&
    original.SaleID === repeated.SaleID &&
    original.ServiceID === repeated.ServiceID
  );
}

// What is told of messages and of faults, for a log or a screen.
import { defined } from '@switchyard/contract';
import { type AnyMessage, resultOf } from '@switchyard/nexo';
import type { TerminalEvent } from './service-context.ts';

/** What is told of a message. */
export function messageEvent(
  type: 'Received' | 'Sent',
  { header, body }: AnyMessage,
): TerminalEvent {
  const { MessageCategory: category, MessageType: kind, ServiceID, SaleID: saleId } = header;
  const { Result: result, ErrorCondition: condition } = resultOf({ header, body }) ?? {};
  const event = body['EventToNotify'];
  return {
    type,
    category,
    kind,
    saleId,
    ...defined({ serviceId: ServiceID, result, condition }),
    ...(typeof event === 'string' ? { event } : {}),
  };
}

/** What is told of an error that nobody foresaw, such as a full disk. */
export function errorEvent(error: unknown): TerminalEvent {
  return { type: 'Fault', fault: error instanceof Error ? error.message : String(error) };
}

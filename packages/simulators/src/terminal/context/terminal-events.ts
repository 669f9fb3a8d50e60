// Events about messages and errors, for a log or a screen.
import { defined } from '@switchyard/contract';
import { type AnyMessage, resultOf } from '@switchyard/nexo';
import type { TerminalEvent } from './service-context.ts';

/** The event for a message. */
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

/** The event for an unexpected error, such as a full disk. */
export function errorEvent(error: unknown): TerminalEvent {
  return { type: 'Fault', fault: error instanceof Error ? error.message : String(error) };
}

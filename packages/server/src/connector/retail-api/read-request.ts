// Reads the header of a message from a point of sale; the terminal checks the body.
import { type FieldError, throwProblem } from '@switchyard/contract';
import { categoryRules, type Header, type Reading, readMessage } from '@switchyard/nexo';

export type TerminalRequest = {
  /** The text as received. */
  readonly text: string;
  readonly header: Header;
  /** Identifies the answer to this request. */
  readonly responseKey: string;
  /** False for a message without an answer, such as an Abort. */
  readonly hasResponse: boolean;
  /** Only for services, whose ServiceID works once; device messages belong to a running service. */
  readonly service: { readonly serviceId: string; readonly saleId: string } | undefined;
};

/**
 * A response repeats the header of its request. The key of a service ignores the DeviceID, because
 * a terminal may add one.
 */
export function responseKeyOf(header: Header): string {
  const { MessageClass, MessageCategory, SaleID, ServiceID = '', DeviceID = '' } = header;
  const device = MessageClass === 'Device' ? DeviceID : '';
  return JSON.stringify([MessageCategory, SaleID, ServiceID, device]);
}

/** Also reads the clear header of a protected message, and of a message with an unreadable body. */
export function headerOf(reading: Reading): Header | undefined {
  if (reading.kind === 'Unreadable') return undefined;
  return reading.kind === 'Message' ? reading.message.header : reading.header;
}

const fieldsMax = 10;

function throwUnreadable(
  faults: readonly { readonly pointer: string; readonly problem: string }[],
): never {
  const errors = faults
    .slice(0, fieldsMax)
    .map(
      ({ pointer, problem }): FieldError => ({ pointer, code: 'nexo_invalid', detail: problem }),
    );
  return throwProblem('nexo_invalid', 'The message has no readable header.', { errors });
}

/** @throws nexo_invalid */
export function readTerminalRequest(body: Buffer): TerminalRequest {
  const reading = readMessage(body);
  const header = headerOf(reading);
  if (header === undefined) return throwUnreadable('faults' in reading ? reading.faults : []);
  const { MessageClass, MessageCategory, MessageType, ServiceID, DeviceID, SaleID } = header;
  if (MessageType === 'Response') {
    return throwProblem(
      'nexo_invalid',
      'Send a request to the terminal. The server accepts no response here.',
    );
  }
  if ((ServiceID ?? DeviceID) === undefined || (MessageClass === 'Service' && !ServiceID)) {
    return throwUnreadable([
      { pointer: '/SaleToPOIRequest/MessageHeader/ServiceID', problem: 'is missing' },
    ]);
  }
  return {
    text: body.toString('utf8'),
    header,
    responseKey: responseKeyOf(header),
    hasResponse:
      MessageType === 'Request' && categoryRules(MessageCategory).bodies.Response !== undefined,
    service:
      MessageClass === 'Service' && ServiceID !== undefined
        ? { serviceId: ServiceID, saleId: SaleID }
        : undefined,
  };
}

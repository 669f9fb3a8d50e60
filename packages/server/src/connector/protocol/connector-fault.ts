// Defines the errors that the connector sends on an open connection.
import {
  type CloseCode,
  type ConnectorFaultCode,
  closeCodes,
  connectorFaults,
  defined,
} from '@switchyard/contract';

type FaultDetails = { readonly retryAfterSeconds?: number; readonly level?: string };

/** Why the server disconnects a point of sale or a device, and ends its sessions. */
export type RevocationReason = 'unauthorized' | 'role_missing';

/** An error that the server sends to the peer; every other error is an internal fault. */
export class ConnectorFault extends Error {
  readonly code: ConnectorFaultCode;
  readonly details: FaultDetails;

  constructor(code: ConnectorFaultCode, details: FaultDetails = {}) {
    super(code);
    this.name = 'Fault';
    this.code = code;
    this.details = details;
  }
}

export const throwFault = (code: ConnectorFaultCode, details?: FaultDetails): never => {
  throw new ConnectorFault(code, details);
};

/** RFC 6455 allows this many bytes for the reason of a close frame. */
const reasonMaxBytes = 123;

/** Returns the reason with the correlation ID, with which an operator finds details in the log. */
export const closeReason = (reason: string, correlationId: string): string =>
  Buffer.from(`${reason}:${correlationId}`).subarray(0, reasonMaxBytes).toString();

/** Returns the text of an error message of the protocol. */
export function errorMessageText(
  { code, details }: ConnectorFault,
  correlationId: string,
  requestId?: string,
): string {
  const { summary: message, retryable } = connectorFaults[code];
  return JSON.stringify({
    type: 'error',
    ...defined({ requestId }),
    error: { code, message, retryable, ...details },
    correlationId,
  });
}

/** Returns the close code for an error that ends the connection. */
export function closeCodeForFault(code: ConnectorFaultCode): CloseCode {
  const fault = connectorFaults[code];
  return 'closeCode' in fault ? fault.closeCode : closeCodes.badMessage;
}

/** Returns how the sessions end after a point of sale or a device has lost its rights. */
export const sessionEndForRevocation = (reason: RevocationReason) => ({
  code: closeCodeForFault(reason),
  reason,
});

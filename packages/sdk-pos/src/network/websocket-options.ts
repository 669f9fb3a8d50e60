/** The errors and limits of the WebSockets of this package. */
import { connectorLimits, problemText } from '@switchyard/contract';
import type { WebsocketErrors } from '@switchyard/sdk-core';
import { createPosError, PosError } from '../support/pos-error.ts';

const unauthorizedStatus = 401;
const goneStatuses = new Set([404, 410]);
const lastStatusOfClient = 499;
const temporaryStatuses = new Set([401, 404, 408, 410, 425, 429]);

const statusErrorCode = (status: number): string => {
  if (status === unauthorizedStatus) return 'unauthorized';
  return goneStatuses.has(status) ? 'session_gone' : `http_${status}`;
};

export const heartbeatMs = connectorLimits.heartbeatSeconds * 1000;

export const sendOptions = {
  maxBytes: connectorLimits.messageMaxBytes,
  createError: createPosError,
};

export const websocketErrors: WebsocketErrors = {
  createError: createPosError,
  createHandshakeError: ({ status, problem, retryAfterMs }) =>
    new PosError('Transport', `the handshake was answered with ${problemText(status, problem)}`, {
      code: problem.code ?? statusErrorCode(status),
      status,
      retryable: status > lastStatusOfClient || temporaryStatuses.has(status),
      retryAfterMs,
    }),
};

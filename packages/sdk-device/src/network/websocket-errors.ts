/** The errors of WebSockets: a refused handshake, and faults of the network. */
import { problemText } from '@switchyard/contract';
import type { WebsocketErrors } from '@switchyard/sdk-core';
import { createDeviceError, DeviceError } from '../support/device-error.ts';

const lastStatusOfClient = 499;
/** Temporary statuses: a new registration can succeed, although the same request would not. */
const temporaryStatuses = new Set([404, 408, 410, 421, 425, 429]);

export const websocketErrors: WebsocketErrors = {
  createError: createDeviceError,
  createRefusalError: ({ status, problem, retryAfterMs }) =>
    new DeviceError('Refused', `the handshake was answered with ${problemText(status, problem)}`, {
      code: problem.code ?? `http_${status}`,
      status,
      retryable: status > lastStatusOfClient || temporaryStatuses.has(status),
      retryAfterMs,
    }),
};

/** Codes of refused WebSocket handshakes. Open connections use the codes of `connectorFaults`. */
import { permanentError, temporaryError } from './error-code-kinds.ts';

export const connectorCodes = {
  upgrade_required: permanentError(
    426,
    'The address is a WebSocket address',
    'Open a WebSocket of version 13 (RFC 6455) at this address; HTTP requests are not possible.',
  ),
  role_missing: permanentError(
    403,
    'The role "Point-of-sale Terminal" is missing',
    'The application of the token has not the role that the Cloud Connector requires.',
  ),
  origin_not_allowed: permanentError(
    403,
    'Browser pages cannot use the connector',
    'The WebSocket handshake has an Origin header. Only portal pages may connect terminals from a browser.',
  ),
  session_gone: permanentError(
    410,
    'The session address was used or has expired',
    'A session or connection address is valid once and for a short time; claim or register again.',
  ),
  node_unreachable: temporaryError(
    503,
    'The node of the terminal cannot be reached',
    'The terminal is connected to another node of the platform, and this node cannot reach it now.',
  ),
} as const;

/** Codes of refused WebSocket handshakes, and of pages that control a simulated terminal. Open connections use the codes of `connectorFaults`. */
import { permanentError, temporaryError } from './error-code-kinds.ts';

export const connectorCodes = {
  upgrade_required: permanentError(
    426,
    'The URL accepts only WebSocket connections',
    'Open a WebSocket of version 13 (RFC 6455) at this address; HTTP requests are not possible.',
  ),
  role_missing: permanentError(
    403,
    'The role "Point-of-sale Terminal" is missing',
    'The Cloud Connector requires this role. Give it to the application, and request a new token.',
  ),
  origin_not_allowed: permanentError(
    403,
    'Browser pages cannot use the connector',
    'Send no Origin header in the WebSocket handshake. Only the portal can connect terminals from a browser.',
  ),
  session_gone: permanentError(
    410,
    'The session URL was used or has expired',
    'Each session or connection URL works once, for a short time. Claim the session or register again.',
  ),
  terminal_not_controlled: permanentError(
    409,
    'The page does not control the simulated terminal',
    'Only one page can control a simulated terminal. Select “Use it in this tab”, or reload the page.',
  ),
  node_unreachable: temporaryError(
    503,
    'The node of the terminal cannot be reached',
    'The terminal is connected to another node of the platform, and this node cannot reach it now.',
  ),
} as const;

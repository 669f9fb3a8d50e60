// Registers the two routes of the virtual terminal in the demo: its devices and its connection.
import {
  defined,
  PortalTerminalConnection,
  PortalTerminalList,
  ProblemError,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { WebPageTerminals } from '../../connector/index.ts';
import { type Caller, pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import { portalPath } from '../../identity/index.ts';
import type { Ids } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { SessionCaller } from '../sessions/session-caller.ts';
import type { PortalSession } from '../sessions/sessions.ts';
import { terminalProtocol } from './accept-terminal-connections.ts';
import type { ConnectionTickets } from './connection-tickets.ts';

export const connectionsPath = `${portalPath}/terminal-connections`;
const listName = 'listPortalTerminals';

export type TerminalRouteDeps = {
  readonly callers: Pick<SessionCaller, 'findCaller' | 'sessionOf'>;
  readonly tickets: Pick<ConnectionTickets, 'issue' | 'goodSeconds'>;
  readonly pages: WebPageTerminals;
  readonly provisioning: Pick<Provisioning, 'logicalDevices' | 'terminals' | 'findDevice'>;
  readonly ids: Pick<Ids, 'secret'>;
};

type SellerRequest = { readonly caller: Caller; readonly session: PortalSession };

/** Requires a request from a portal page whose user may sell for a merchant. */
async function requireSeller(
  { callers }: TerminalRouteDeps,
  request: FastifyRequest,
): Promise<SellerRequest> {
  const caller = await callers.findCaller(request);
  const session = callers.sessionOf(request);
  if (caller === undefined || session === undefined) {
    throw new ProblemError(
      'token_missing',
      'The request has no portal session. Sign in to the portal.',
    );
  }
  request.caller = caller;
  if (!caller.permissions.has('pay.sale') || caller.merchantId === undefined) {
    throwProblem(
      'permission_denied',
      'Only a user of a merchant with the permission pay.sale can use a terminal.',
    );
  }
  return { caller, session };
}

async function createConnection(deps: TerminalRouteDeps, { caller, session }: SellerRequest) {
  const { tickets, pages, provisioning, ids } = deps;
  const { organizationId, merchantId, deviceId } = caller;
  if (deviceId === undefined) {
    return throwProblem(
      'permission_denied',
      'The request has no header X-Switchyard-Device. Send the ID of a logical device.',
    );
  }
  const logicalDevice = await provisioning.findDevice(organizationId, merchantId, deviceId);
  if (logicalDevice?.physicalDeviceId === undefined) {
    return throwProblem(
      'device_not_active',
      'The logical device has no hardware. Assign a physical device first.',
    );
  }
  const device = await pages.requireUsableDevice(organizationId, logicalDevice.physicalDeviceId);
  const { tsn, physicalDeviceId, storeId } = device;
  const connectionId = ids.secret();
  const order = await pages.register(device);
  const ticket = tickets.issue(session, { connectionId, order, deviceId, physicalDeviceId });
  return {
    tsn,
    deviceId,
    storeId,
    connectionUrl: `${session.origin.replace(/^http/, 'ws')}${connectionsPath}/${connectionId}`,
    protocols: [terminalProtocol, ticket],
    expiresIn: tickets.goodSeconds,
    maxMessageBytes: pages.maxMessageBytes,
  };
}

/** @example registerTerminalRoutes(app, deps); // only in the demo */
export function registerTerminalRoutes(app: FastifyInstance, deps: TerminalRouteDeps): void {
  const common = { tags: ['Portal'], isHidden: true, permission: 'public', errors: [] } as const;
  route(app, {
    ...common,
    method: 'GET',
    url: `${portalPath}/terminals`,
    operationId: listName,
    summary: 'List the logical devices that the page can act as',
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: PortalTerminalList },
    async handler(request, reply) {
      const { caller } = await requireSeller(deps, request);
      reply.header('cache-control', 'no-store');
      const { organizationId, merchantId } = caller;
      const scope = { organizationId, ...defined({ merchantId }) };
      const page = readPageRequest(request.query, listName);
      const devices = await deps.provisioning.logicalDevices.list(scope, {}, page);
      const items = devices.items.map(({ logicalDeviceId: deviceId, storeId, name }) => ({
        deviceId,
        storeId,
        name,
      }));
      return pageResponse({ items, next: devices.next }, request.query, listName);
    },
  });
  route(app, {
    ...common,
    method: 'POST',
    url: connectionsPath,
    operationId: 'connectPortalTerminal',
    summary: 'Create a terminal connection for the page',
    response: { 201: PortalTerminalConnection },
    async handler(request, reply) {
      const seller = await requireSeller(deps, request);
      reply.header('cache-control', 'no-store').code(201);
      return createConnection(deps, seller);
    },
  });
}

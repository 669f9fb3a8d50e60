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
import type { Tickets } from './connection-tickets.ts';
import { terminalProtocol } from './terminal-connections.ts';

export const connectionsPath = `${portalPath}/terminal-connections`;
const listName = 'listPortalTerminals';

export type TerminalRouteDeps = {
  readonly callers: Pick<SessionCaller, 'of' | 'sessionOf'>;
  readonly tickets: Pick<Tickets, 'issue' | 'goodSeconds'>;
  readonly pages: WebPageTerminals;
  readonly provisioning: Pick<Provisioning, 'logicalDevices' | 'terminals' | 'findDevice'>;
  readonly ids: Pick<Ids, 'secret'>;
};

type Asked = { readonly caller: Caller; readonly session: PortalSession };

/** Requires a request from a portal page whose user may sell for a merchant. */
async function demandSeller(
  { callers }: TerminalRouteDeps,
  request: FastifyRequest,
): Promise<Asked> {
  const caller = await callers.of(request);
  const session = callers.sessionOf(request);
  if (caller === undefined || session === undefined) {
    throw new ProblemError('token_missing', 'The request comes from no session of the portal.');
  }
  request.caller = caller;
  if (!caller.permissions.has('pay.sale') || caller.merchantId === undefined) {
    throwProblem('permission_denied', 'A terminal is for people of a merchant who may sell.');
  }
  return { caller, session };
}

async function connectionFor(deps: TerminalRouteDeps, { caller, session }: Asked) {
  const { tickets, pages, provisioning, ids } = deps;
  const { organizationId, merchantId, deviceId } = caller;
  if (deviceId === undefined) {
    return throwProblem('permission_denied', 'The request names no device.');
  }
  const found = await provisioning.findDevice(organizationId, merchantId, deviceId);
  if (found?.physicalDeviceId === undefined) {
    return throwProblem('device_not_active', 'The place has no hardware, and hence no terminal.');
  }
  const device = await pages.requireUsableDevice(organizationId, found.physicalDeviceId);
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

/** @example registerTerminalRoutes(app, deps); // in the demo alone */
export function registerTerminalRoutes(app: FastifyInstance, deps: TerminalRouteDeps): void {
  const common = { tags: ['Portal'], isHidden: true, permission: 'public', errors: [] } as const;
  route(app, {
    ...common,
    method: 'GET',
    url: `${portalPath}/terminals`,
    operationId: listName,
    summary: 'Where the page can stand in for a terminal',
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: PortalTerminalList },
    async handler(request, reply) {
      const { caller } = await demandSeller(deps, request);
      reply.header('cache-control', 'no-store');
      const { organizationId, merchantId } = caller;
      const scope = { organizationId, ...defined({ merchantId }) };
      const page = readPageRequest(request.query, listName);
      const found = await deps.provisioning.logicalDevices.list(scope, {}, page);
      const items = found.items.map(({ logicalDeviceId: deviceId, storeId, name }) => ({
        deviceId,
        storeId,
        name,
      }));
      return pageResponse({ items, next: found.next }, request.query, listName);
    },
  });
  route(app, {
    ...common,
    method: 'POST',
    url: connectionsPath,
    operationId: 'connectPortalTerminal',
    summary: 'A connection of the page as a terminal',
    response: { 201: PortalTerminalConnection },
    async handler(request, reply) {
      const asked = await demandSeller(deps, request);
      reply.header('cache-control', 'no-store').code(201);
      return connectionFor(deps, asked);
    },
  });
}

// Registers the routes of the virtual terminal in the demo: its devices, its event stream and its control.
import {
  defined,
  PortalTerminalAction,
  PortalTerminalList,
  ProblemError,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  type Caller,
  type EventStreams,
  eventStreamType,
  pageQuery,
  pageResponse,
  readPageRequest,
  readStreamCursor,
  route,
} from '../../http/index.ts';
import { portalPath } from '../../identity/index.ts';
import type { ChangeNotifier, Log } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { SessionCaller } from '../sessions/session-caller.ts';
import type { SimulatedDevice, StartSimulatedTerminal } from './simulated-terminal-port.ts';
import { createSimulatedTerminals } from './simulated-terminals.ts';

const terminalsPath = `${portalPath}/terminals`;
const listName = 'listPortalTerminals';
/** Made by the page when it is loaded. */
const terminalQuery = Type.Object(
  { page: Type.String({ pattern: '^[0-9a-f-]{36}$' }) },
  { additionalProperties: false },
);

export type TerminalRoutePorts = {
  readonly callers: Pick<SessionCaller, 'sessionOf'>;
  readonly terminals: ReturnType<typeof createSimulatedTerminals>;
  readonly provisioning: Pick<Provisioning, 'logicalDevices' | 'terminals' | 'findDevice'>;
  readonly streams: EventStreams;
};

/** Requires a request from a portal page whose user may sell for a merchant. */
function requireSeller({ callers }: TerminalRoutePorts, request: FastifyRequest): Caller {
  const { caller } = request;
  if (caller === undefined || callers.sessionOf(request) === undefined) {
    throw new ProblemError(
      'token_missing',
      'The request has no portal session. Sign in to the portal.',
    );
  }
  if (caller.merchantId === undefined) {
    throwProblem(
      'permission_denied',
      'Only a user of a merchant with the permission pay.sale can use a terminal.',
    );
  }
  return caller;
}

/** The hardware of the logical device in `X-Switchyard-Device`. */
async function requireDevice(
  ports: TerminalRoutePorts,
  request: FastifyRequest,
): Promise<SimulatedDevice> {
  const { provisioning } = ports;
  const { organizationId, merchantId, deviceId } = requireSeller(ports, request);
  if (deviceId === undefined) {
    return throwProblem(
      'permission_denied',
      'The request has no header X-Switchyard-Device. Send the ID of a logical device.',
    );
  }
  const logicalDevice = await provisioning.findDevice(organizationId, merchantId, deviceId);
  const { physicalDeviceId } = logicalDevice ?? {};
  const terminal =
    physicalDeviceId === undefined
      ? undefined
      : await provisioning.terminals.find(organizationId, physicalDeviceId);
  if (terminal === undefined) {
    return throwProblem(
      'device_not_active',
      'The logical device has no hardware. Assign a physical device first.',
    );
  }
  return terminal;
}

/** @example registerTerminalRoutes(app, ports); // only in the demo */
function registerTerminalRoutes(app: FastifyInstance, ports: TerminalRoutePorts): void {
  const { terminals, provisioning, streams } = ports;
  const common = { tags: ['Portal'], isHidden: true, permission: 'pay.sale', errors: [] } as const;
  route(app, {
    ...common,
    method: 'GET',
    url: terminalsPath,
    operationId: listName,
    summary: 'List the logical devices whose terminals the page can simulate',
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: PortalTerminalList },
    async handler(request, reply) {
      const { organizationId, merchantId } = requireSeller(ports, request);
      reply.header('cache-control', 'no-store');
      const scope = { organizationId, ...defined({ merchantId }) };
      const page = readPageRequest(request.query, listName);
      const devices = await provisioning.logicalDevices.list(scope, {}, page);
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
    method: 'GET',
    url: `${terminalsPath}/events`,
    operationId: 'followPortalTerminal',
    summary: 'Start the terminal of a device, and send its state after each change',
    query: terminalQuery,
    produces: [eventStreamType],
    response: { 204: null },
    async handler(request, reply) {
      const device = await requireDevice(ports, request);
      // HEAD sends no events, so it starts no terminal.
      if (request.method === 'HEAD') return reply.type(eventStreamType).send();
      const { source, leave } = terminals.enter(device, request.query.page);
      const { socket } = request.raw;
      if (socket.destroyed) leave();
      else socket.once('close', leave);
      try {
        return await streams.send(request, reply, { ...source, after: readStreamCursor(request) });
      } catch (error) {
        socket.off('close', leave);
        leave();
        throw error;
      }
    },
  });
  route(app, {
    ...common,
    method: 'POST',
    url: `${terminalsPath}/actions`,
    operationId: 'controlPortalTerminal',
    summary: 'Act as the cardholder at a terminal, or connect and disconnect it',
    query: terminalQuery,
    body: PortalTerminalAction,
    response: { 204: null },
    async handler(request, reply) {
      const device = await requireDevice(ports, request);
      await terminals.act(device, request.query.page, request.body);
      reply.code(204);
    },
  });
}

type Ports = Pick<TerminalRoutePorts, 'callers' | 'provisioning'> & {
  readonly live: Pick<ChangeNotifier, 'publish'>;
  readonly log: Log;
};

/** @example const terminals = createPortalTerminals(startTerminal, ports); */
export function createPortalTerminals(start: StartSimulatedTerminal, ports: Ports) {
  const terminals = createSimulatedTerminals({ ...ports, start });
  return {
    register: (app: FastifyInstance, streams: EventStreams): void =>
      registerTerminalRoutes(app, { ...ports, terminals, streams }),
    stop: terminals.stop,
  };
}

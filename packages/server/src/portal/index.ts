// Creates the portal: the sessions of browsers, and the built pages that use them.
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import {
  createBuiltFolder,
  type EventStreams,
  type FindSessionCaller,
  isBuilding,
} from '../http/index.ts';
import type { Identity } from '../identity/index.ts';
import type {
  ChangeNotifier,
  CleanupJob,
  Clock,
  Database,
  Ids,
  Log,
  Settings,
} from '../platform/index.ts';
import { registerPortalRoutes } from './routes.ts';
import { createSessionCaller } from './sessions/session-caller.ts';
import { createSessionView, type SessionViewDeps } from './sessions/session-view.ts';
import { createSessions } from './sessions/sessions.ts';
import { createSignIn } from './sign-in/sign-in.ts';
import { createSignInStates } from './sign-in/sign-in-state.ts';
import type { StartSimulatedTerminal } from './terminals/simulated-terminal-port.ts';
import { createPortalTerminals, type TerminalRoutePorts } from './terminals/terminal-routes.ts';

export type { StartSimulatedTerminal } from './terminals/simulated-terminal-port.ts';

/** The build output of the package `portal`. */
const builtFolder = fileURLToPath(new URL('../../../portal/dist', import.meta.url));

export type PortalDeps = Omit<SessionViewDeps, 'provisioning'> & {
  readonly provisioning: SessionViewDeps['provisioning'] & TerminalRoutePorts['provisioning'];
  /** Only in the demo; without it, no page can simulate a terminal. */
  readonly startTerminal?: StartSimulatedTerminal | undefined;
  readonly live: Pick<ChangeNotifier, 'publish'>;
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly settings: Pick<Settings, 'environment' | 'region' | 'authUrl' | 'platformKey'>;
  readonly identity: Pick<
    Identity,
    | 'portalAuthorization'
    | 'portalUrls'
    | 'verifyToken'
    | 'accounts'
    | 'userDomainExists'
    | 'isOperator'
  >;
  readonly audit: Pick<AuditRecorder, 'record'>;
  /** The default is the folder in the repository. */
  readonly builtFolder?: string | undefined;
};

export type Portal = {
  /** Returns the caller of a request from a portal page; undefined for every other request. */
  readonly callerOf: FindSessionCaller;
  register(app: FastifyInstance, streams: EventStreams): void;
  readonly cleanupJob: CleanupJob;
  stop(): Promise<void>;
};

const deleteEveryMs = 300_000;
const sessionsAtOnce = 500;

export function createPortal(deps: PortalDeps): Portal {
  const { identity, settings, clock, ids, provisioning, startTerminal } = deps;
  const masterKey = settings.platformKey;
  const { portalUrls, verifyToken } = identity;
  const sessions = createSessions({ ...deps, masterKey });
  const findDevice = settings.environment === 'demo' ? provisioning.findDevice : undefined;
  const callers = createSessionCaller({ sessions, portalUrls, verifyToken, findDevice });
  const terminals = startTerminal && createPortalTerminals(startTerminal, { ...deps, callers });
  return {
    callerOf: callers.findCaller,
    register(app, streams) {
      const flows = createSignInStates({ clock, ids, masterKey });
      registerPortalRoutes(app, {
        portalUrls,
        callers,
        ids,
        show: createSessionView(deps),
        built: createBuiltFolder(deps.builtFolder ?? builtFolder, clock),
        signIn: createSignIn({ ...deps, sessions, signInStates: flows, authUrl: settings.authUrl }),
        isBuilding: () => isBuilding('portal'),
        isClient: identity.userDomainExists,
      });
      terminals?.register(app, streams);
    },
    cleanupJob: {
      data: 'portal sessions',
      intervalMs: deleteEveryMs,
      deleteBatch: async () => (await sessions.deleteEnded(sessionsAtOnce)) === sessionsAtOnce,
    },
    stop: async () => terminals?.stop(),
  };
}

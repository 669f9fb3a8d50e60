// Creates the portal: the sessions of browsers, and the built pages that use them.
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import type { Connector } from '../connector/index.ts';
import type { FindSessionCaller, WebSocketUpgrades } from '../http/index.ts';
import type { Identity } from '../identity/index.ts';
import type { Clock, Database, Ids, Log, Settings } from '../platform/index.ts';
import { isBuilding } from './pages/build-lock.ts';
import { createBundle } from './pages/portal-bundle.ts';
import { registerPortalRoutes } from './routes.ts';
import { createSweep } from './sessions/delete-expired-sessions.ts';
import { createSessionCaller } from './sessions/session-caller.ts';
import { createView, type ViewDeps } from './sessions/session-view.ts';
import { createSessions } from './sessions/sessions.ts';
import { createSignIn } from './sign-in/sign-in.ts';
import { createFlows } from './sign-in/sign-in-state.ts';
import { createPortalTerminals, type TerminalRouteDeps } from './terminals/index.ts';

/** The build output of the package `portal`. */
const builtFolder = fileURLToPath(new URL('../../../portal/dist', import.meta.url));

export type PortalDeps = Omit<ViewDeps, 'provisioning'> & {
  readonly provisioning: ViewDeps['provisioning'] & TerminalRouteDeps['provisioning'];
  /** Omitted if this process runs no connector; then no page of it can be a terminal. */
  readonly connector?: Pick<Connector, 'pageTerminals'> | undefined;
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
  register(app: FastifyInstance, upgrades: Pick<WebSocketUpgrades, 'add'>): void;
  /** Regularly deletes the sessions that have reached their end. */
  start(): void;
  stop(): Promise<void>;
};

export function createPortal(deps: PortalDeps): Portal {
  const { identity, settings, clock, ids, provisioning } = deps;
  const masterKey = settings.platformKey;
  const { portalUrls: places, verifyToken } = identity;
  const sessions = createSessions({ ...deps, masterKey });
  const isDemo = settings.environment === 'demo';
  const findDevice = isDemo ? provisioning.findDevice : undefined;
  const callers = createSessionCaller({ sessions, places, verifyToken, findDevice });
  const pages = isDemo ? deps.connector?.pageTerminals : undefined;
  const terminals = pages && createPortalTerminals({ ...deps, callers, pages, masterKey });
  const sweep = createSweep({ ...deps, sweep: sessions.sweep });
  return {
    callerOf: callers.of,
    register(app, upgrades) {
      const flows = createFlows({ clock, ids, masterKey });
      registerPortalRoutes(app, {
        places,
        callers,
        ids,
        show: createView(deps),
        bundle: createBundle(deps.builtFolder ?? builtFolder, clock),
        signIn: createSignIn({ ...deps, sessions, flows, authUrl: settings.authUrl }),
        isBuilding,
        isClient: identity.userDomainExists,
        onSignedOut: () => terminals?.lookNow(),
      });
      terminals?.register(app, upgrades);
    },
    start() {
      sweep.start();
      terminals?.start();
    },
    async stop() {
      await Promise.all([sweep.stop(), terminals?.stop()]);
    },
  };
}

// The HTTP server: one Fastify over TLS with the house rules that every route obeys.
import type { AddressInfo } from 'node:net';
import { defined, Refusal } from '@switchyard/contract';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import serverPackage from '../../../package.json' with { type: 'json' };
import {
  type Clock,
  createLive,
  type Ids,
  type Live,
  type Log,
  type Metrics,
  systemClock,
} from '../../platform/index.ts';
import { createAuthenticate, type SessionCallerOf } from '../authentication/authenticate.ts';
import type { VerifyToken } from '../authentication/caller.ts';
import {
  type CertificateReader,
  createCertificateReader,
} from '../authentication/client-certificates.ts';
import { createStreams, type Streams, type StreamsDeps } from '../event-streams/event-streams.ts';
import { createLoadShedding, type LoadLimits, type LoadShedding } from '../limits/load-shedding.ts';
import { type Arrivals, createArrivals, type Patience } from '../limits/new-connection-limits.ts';
import { createRateLimits, type RatePolicies } from '../limits/rate-limits.ts';
import { asyncApiOf, registerDocs } from '../openapi/documentation-routes.ts';
import { type OpenApiFacts, writeOpenApi } from '../openapi/openapi-document.ts';
import { checkAnswers } from '../openapi/response-validation.ts';
import { tagDescriptions } from '../openapi/tag-descriptions.ts';
import { createAddressReader } from '../requests/client-address.ts';
import { createRequestIds, requestIdHeader, traceIdOf } from '../requests/request-id.ts';
import { createValidation } from '../requests/schema-validation.ts';
import { parseStrictJson } from '../requests/strict-json.ts';
import { createErrorHandler, createProblemSender } from '../responses/problem-responses.ts';
import { createActing, type FindOrganization } from '../routes/act-on-behalf-of.ts';
import { tellDeprecation } from '../routes/deprecation.ts';
import { type IdempotencyKeys, withIdempotency } from '../routes/idempotency-key.ts';
import type { RouteFacts } from '../routes/route-declaration.ts';
import { createClientErrorHandler } from './client-error-handler.ts';
import {
  createSecondListener,
  type SecondListener,
  type SecondListenerOptions,
} from './device-listener.ts';
import { createListener, type ListenerTls } from './listener.ts';
import { createNotFoundHandler, createRouteMap, type RouteMap } from './not-found-handler.ts';
import { createDrain, type Drain } from './request-drain.ts';
import { createRequestLog, logAccess } from './request-logging.ts';
import { createRequestMetrics } from './request-metrics.ts';
import {
  bodyLimitBytes,
  createGate,
  createRecheck,
  type GateDeps,
  urlLimitChars,
} from './request-pipeline.ts';
import { type OnAnswered, tellAnswered } from './response-log-entry.ts';
import { createUpgrades, type UpgradeRoute, type Upgrades } from './websocket-upgrades.ts';

/** The part of the settings that matters here. */
export type HttpSettings = {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string;
  readonly authUrl: string;
  /** Where devices show their certificates; for the documents. */
  readonly deviceAuthUrl?: string;
  /** What opens the address of a session; for the document. */
  readonly connectorSessionAuth?: 'url' | 'bearer';
  /** Addresses and ranges of the proxy that ends TLS. */
  readonly trustProxy?: readonly string[] | undefined;
  /** WebSockets that there may be beside the connections of HTTP. */
  readonly connectorConnections?: number;
  /** In `production` each response has HSTS; of localhost it would hold for all that stands there. */
  readonly environment?: string;
};

export type HttpDeps = {
  readonly settings: HttpSettings;
  /** Left out only behind a trusted proxy that ends TLS itself. */
  readonly tls?: ListenerTls;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly ids: Ids;
  readonly clock?: Clock;
  /** What clients wait for; left out, nothing happens elsewhere. */
  readonly live?: Live | undefined;
  readonly streams?: Pick<StreamsDeps, 'limits' | 'times'>;
  readonly verifyToken: VerifyToken;
  /** Left out: nobody comes without a token. */
  readonly sessionCallerOf?: SessionCallerOf | undefined;
  /** Left out: nobody acts in another organisation. */
  readonly findOrganization?: FindOrganization;
  /** Left out: requests have no keys. */
  readonly idempotencyKeys?: IdempotencyKeys | undefined;
  /** Left out: no client certificate is accepted. */
  readonly certificates?: CertificateReader;
  /** For peers that prove themselves by certificate; left out: there is none. */
  readonly secondListener?: SecondListenerOptions | undefined;
  /** Besides, or in place of, the default policies. */
  readonly rateLimits?: RatePolicies;
  readonly loadLimits?: LoadLimits;
  /** How long clients may take; left out in part: as usual. */
  readonly patience?: Partial<Patience> | undefined;
  /** What the tags of the routes are about, for the OpenAPI document. */
  readonly tagDescriptions?: Readonly<Record<string, string>>;
  /** The user domain that the reference page signs in to; left out, readers put theirs in. */
  readonly shownUserDomain?: string | undefined;
  /** Compiles every schema before the server listens: slower, and faulty ones show at once. */
  readonly eagerSchemas?: boolean;
  /** Told at the end of each answer to a known caller; it returns at once. */
  readonly onAnswered?: OnAnswered | undefined;
  /** For tests: an answer that is not as its route declares becomes a fault. */
  readonly checksAnswers?: boolean;
};

/** One that another library answers has no facts. */
export type RegisteredRoute = {
  readonly method: string;
  readonly url: string;
  readonly facts?: RouteFacts;
};

export type Http = {
  /** Rooms register their routes on it before `listen`. */
  readonly app: FastifyInstance;
  /** Everything that can be asked, as far as it is registered. */
  readonly routes: readonly RegisteredRoute[];
  readonly certificates: CertificateReader;
  /** Rooms add their queues as sources of pressure. */
  readonly loadShedding: LoadShedding;
  /** For rooms whose clients wait for what happens. */
  readonly streams: Streams;
  /** For rooms that speak over WebSockets. */
  readonly upgrades: Pick<Upgrades, 'add' | 'drain'>;
  /** `secondPort` where there is a second listener. */
  listen(): Promise<{ host: string; port: number; secondPort?: number }>;
  /** Answers new requests with 503, waits for running ones, then closes every connection. */
  close(limitMs?: number): Promise<void>;
};

const aboutTheApi = {
  title: 'Switchyard',
  version: serverPackage.version,
  description:
    'An open payment platform for acquirers. Every refusal is application/problem+json with a code of a closed list; a declined payment is not a refusal. Amounts are integers in minor units.',
} as const;

const isStrict = ({ environment }: HttpSettings) => environment === 'production';

const pathPartLimitChars = 256;
const closeLimitMs = 15_000;

export async function createHttp(deps: HttpDeps): Promise<Http> {
  const { settings, verifyToken, log, clock = systemClock } = deps;
  const drain = createDrain();
  const { trustProxy: trustedProxy } = settings;
  const certificates = deps.certificates ?? createCertificateReader({ trustedProxy });
  const loadShedding = createLoadShedding({
    running: drain.running,
    ...defined({ limits: deps.loadLimits }),
  });
  const rateLimits = createRateLimits(deps.rateLimits);
  const upgrades = createUpgrades({
    ids: deps.ids,
    log,
    baseUrl: settings.baseUrl,
    verifyToken,
    certificates,
    strangers: rateLimits.strangers,
    goneSessions: rateLimits.goneSessions,
    addressOf: createAddressReader(trustedProxy),
    isStrict: isStrict(settings),
  });
  const arrivals = createArrivals({ metrics: deps.metrics, patience: deps.patience });
  const entrance = { drain, upgrades, arrivals };
  const app = createApp(deps, entrance);
  const routes = createRouteMap();
  const operations: RouteFacts[] = [];
  const registered = noteRoutes(app);
  const second = openingSecond(deps, app, entrance);
  obeyHouseRules(app, { drain, certificates, routes, second, baseUrl: settings.baseUrl });
  const access = {
    authenticate: createAuthenticate(verifyToken, certificates.presentedBy, deps.sessionCallerOf),
    act: createActing(deps.findOrganization ?? (async () => undefined)),
  };
  const streams = createStreams({
    log,
    clock,
    metrics: deps.metrics,
    ...deps.streams,
    live: deps.live ?? createLive({ log }),
    authorize: createRecheck(access),
  });
  guardRoutes(app, operations, routes, {
    ...access,
    rateLimits,
    loadShedding,
    certificates,
    keys: deps.idempotencyKeys,
  });
  app.setValidatorCompiler(createValidation({ eager: deps.eagerSchemas ?? false }).compile);
  if (deps.checksAnswers === true) checkAnswers(app);
  observeRequests(app, deps, { running: drain.running, pressure: loadShedding.pressure });
  app.addHook('onClose', async () => loadShedding.stop());
  registerDocs(app, {
    openApi: () => writeOpenApi(openApiFacts(deps), operations),
    asyncApi: asyncApiOf(settings, aboutTheApi.version),
  });

  return {
    app,
    routes: registered,
    certificates,
    loadShedding,
    streams,
    upgrades: { add: (added) => addUpgrade(app, upgrades, added), drain: upgrades.drain },
    async listen() {
      await app.listen({
        host: settings.host,
        port: settings.port,
        listenTextResolver: (address) =>
          `listening at ${deps.tls === undefined ? address : address.replace(/^http:/, 'https:')}`,
      });
      const { address, port } = app.server.address() as AddressInfo;
      if (second === undefined) return { host: address, port };
      const { port: secondPort } = await second.listen();
      deps.log.info({ port: secondPort }, 'listening for clients with certificates');
      return { host: address, port, secondPort };
    },
    async close(limitMs = closeLimitMs) {
      streams.stop();
      upgrades.drain();
      const left = app.server.listening ? await drain.begin(limitMs) : 0;
      if (left > 0) deps.log.warn({ left }, 'requests were cut off by the stop');
      if (left > 0) app.server.closeAllConnections();
      await second?.close();
      await app.close();
    },
  };
}

function openApiFacts(deps: HttpDeps): OpenApiFacts {
  const { settings, shownUserDomain } = deps;
  const described = { ...tagDescriptions, ...deps.tagDescriptions };
  const { baseUrl, authUrl, deviceAuthUrl } = settings;
  return {
    ...aboutTheApi,
    baseUrl,
    authUrl,
    deviceAuthUrl,
    shownUserDomain,
    tagDescriptions: described,
  };
}

/** Whoever asks there by plain HTTP learns what the address is. */
function addUpgrade(app: FastifyInstance, upgrades: Upgrades, added: UpgradeRoute): void {
  upgrades.add(added);
  app.get(added.path, (_request, reply) => {
    reply.header('upgrade', 'websocket').header('connection', 'Upgrade');
    throw new Refusal('upgrade_required', 'The address is that of a WebSocket.');
  });
}

type Entrance = {
  readonly drain: Drain;
  readonly upgrades: Upgrades;
  readonly arrivals: Arrivals;
};

function createApp(
  { settings, tls, log, ids }: HttpDeps,
  { drain, upgrades, arrivals }: Entrance,
): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = log;
  const sendProblem = createProblemSender(settings.baseUrl);
  const handleError = createErrorHandler(sendProblem);
  const app = Fastify({
    serverFactory: (listener) =>
      createListener(drain.counting(listener), {
        tls,
        arrivals,
        isUpgrade: upgrades.isWanted,
        webSockets: settings.connectorConnections ?? 0,
        isStrict: isStrict(settings),
      }),
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (_parent, { reqId }, options, raw) =>
      createRequestLog(log, () => {
        const traceId = traceIdOf(raw);
        return log.child({ requestId: reqId, ...(traceId && { traceId }) }, options);
      }),
    genReqId: createRequestIds(ids.uuid),
    requestIdHeader: false,
    trustProxy: settings.trustProxy === undefined ? false : [...settings.trustProxy],
    bodyLimit: bodyLimitBytes,
    routerOptions: { maxParamLength: pathPartLimitChars },
    return503OnClosing: false,
    frameworkErrors: handleError,
    clientErrorHandler: createClientErrorHandler(settings.baseUrl, ids.uuid, isStrict(settings)),
  });
  // Further sockets of the same listener hand theirs on to this one.
  upgrades.attach(app.server, false);
  return app;
}

function openingSecond(
  { settings, secondListener: options, ids }: HttpDeps,
  app: FastifyInstance,
  { drain, upgrades, arrivals }: Entrance,
): SecondListener | undefined {
  if (options === undefined) return undefined;
  return createSecondListener({
    host: settings.host,
    options,
    handle: drain.counting((request, response) => app.routing(request, response)),
    onClientError: createClientErrorHandler(settings.baseUrl, ids.uuid, isStrict(settings)),
    upgrades,
    arrivals,
    webSockets: settings.connectorConnections ?? 0,
    isStrict: isStrict(settings),
  });
}

type HouseRules = {
  readonly drain: Drain;
  readonly certificates: CertificateReader;
  readonly routes: RouteMap;
  readonly second: SecondListener | undefined;
  readonly baseUrl: string;
};

/** What holds for every request, whether a room declared its route or not. */
function obeyHouseRules(
  app: FastifyInstance,
  { drain, certificates, routes, second, baseUrl }: HouseRules,
) {
  const sendProblem = createProblemSender(baseUrl);
  app.decorateRequest('caller', undefined);
  app.decorateRequest('refusal', undefined);
  app.decorateRequest('isHandled', false);
  app.decorateRequest('isStreamed', false);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(requestIdHeader, request.id);
    certificates.strip(request);
    try {
      drain.check(reply.raw);
      second?.check(request);
      if (request.url.length > urlLimitChars) {
        throw new Refusal(
          'uri_too_long',
          `The address is longer than ${urlLimitChars} characters.`,
        );
      }
      done();
    } catch (error) {
      done(error as Refusal);
    }
  });
  app.setErrorHandler(createErrorHandler(sendProblem));
  app.setNotFoundHandler(createNotFoundHandler(routes, sendProblem));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const isLeftOut = body.length === 0 && request.routeOptions.config.facts?.bodyOptional === true;
    try {
      done(null, isLeftOut ? undefined : parseStrictJson(body as Buffer));
    } catch (error) {
      done(error as Refusal);
    }
  });
}

function observeRequests(
  app: FastifyInstance,
  { metrics, onAnswered }: Pick<HttpDeps, 'metrics' | 'onAnswered'>,
  load: { running(): number; pressure(): number },
): void {
  const observed = metrics === undefined ? undefined : createRequestMetrics(metrics, load);
  app.addHook('onResponse', (request, reply, done) => {
    observed?.observe(request, reply);
    logAccess(request, reply);
    if (onAnswered !== undefined) tellAnswered(onAnswered, request, reply);
    done();
  });
}

/** Every GET is there as HEAD too, which is the same route. */
function noteRoutes(app: FastifyInstance): readonly RegisteredRoute[] {
  const registered: RegisteredRoute[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const facts = config?.facts;
    for (const name of [method].flat()) {
      if (facts !== undefined && name !== facts.method) continue;
      registered.push({ method: name, url, ...defined({ facts }) });
    }
  });
  return registered;
}

/** Puts the gate before every route that a room declares, and remembers what was declared. */
function guardRoutes(
  app: FastifyInstance,
  operations: RouteFacts[],
  routes: RouteMap,
  { keys, ...deps }: GateDeps & { readonly keys: IdempotencyKeys | undefined },
): void {
  app.addHook('onRoute', (options) => {
    routes.add(options.method, options.url);
    const { facts, described } = options.config ?? {};
    const methods = [options.method].flat();
    for (const each of [described ?? []].flat()) {
      if (methods.includes(each.method)) operations.push({ ...each, url: options.url });
    }
    if (facts === undefined) return;
    if (options.method === facts.method) operations.push({ ...facts, url: options.url });
    const told = tellDeprecation(facts.deprecated);
    options.onRequest = [...told, createGate(facts, deps), ...[options.onRequest ?? []].flat()];
    if (facts.takesKey === true && keys !== undefined) {
      options.handler = withIdempotency(facts, options.handler, keys);
    }
    if (facts.bodyOptional !== true) return;
    options.preValidation = (request, _reply, done) => {
      // `null` was sent, and is no object.
      if (request.body === undefined) request.body = {};
      done();
    };
  });
}

// The public interface of logs: the request log of an organisation's applications.
import { LoggedRequestList, requestLogFilters } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  type EventStreams,
  eventStreamType,
  type OnResponse,
  pageQuery,
  pageResponse,
  readPageRequest,
  readStreamCursor,
  route,
  wantsEventStream,
} from '../http/index.ts';
import {
  type ChangeNotifier,
  type CleanupJob,
  type Clock,
  type Database,
  dayMs,
  isoTime,
  type Log,
  type Metrics,
  type Settings,
  type Topic,
} from '../platform/index.ts';
import { createRequestFinder, type RequestFinder, sequencePattern } from './find-requests.ts';
import { createRequestLogStore, type Head, type PortalClient } from './request-log-sql.ts';
import { createRequestRecorder } from './request-recorder.ts';

type LogsDeps = PortalClient & {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly live: Pick<ChangeNotifier, 'addSource' | 'publish'>;
  readonly settings: Pick<Settings, 'requestLog' | 'requestLogRetentionDays' | 'requestLogRows'>;
};

export type Logs = {
  /** Undefined when the request log is off, so that requests cost nothing. */
  readonly record: OnResponse | undefined;
  register(app: FastifyInstance, streams: EventStreams): void;
  readonly cleanupJob: CleanupJob;
  start(): void;
  stop(): Promise<void>;
};

/** One topic per organisation; its version is the newest sequence number. */
const logTopicKind = 'logs';
const logTopic = (organizationId: string): Topic => ({
  kind: logTopicKind,
  key: organizationId,
});

const deleteEveryMs = 60_000;
const linesAtOnce = 2000;

/** @example const logs = createLogs({ database, clock, log, metrics, live, settings }); */
export function createLogs(deps: LogsDeps): Logs {
  const { settings, live, clock } = deps;
  const { requestLog: recorded, requestLogRows: maxRows, requestLogRetentionDays: days } = settings;
  const store = createRequestLogStore(deps.database, deps);
  const onAppended = (heads: readonly Head[]) => {
    for (const { organizationId, sequence } of heads)
      live.publish(logTopic(organizationId), sequence);
  };
  live.addSource(logTopicKind, async (organizationIds) => {
    const heads = await store.heads(organizationIds);
    return new Map(heads.map(({ organizationId, sequence }) => [organizationId, sequence]));
  });
  const recorder =
    recorded === 'off'
      ? undefined
      : createRequestRecorder({ ...deps, store, recorded, maxRows, onAppended });
  return {
    record: recorder?.record,
    register: (app, streams) => registerLogRoutes(app, createRequestFinder(store), streams),
    cleanupJob: {
      data: 'lines of the request log',
      intervalMs: deleteEveryMs,
      async deleteBatch() {
        const before = isoTime(clock.now() - days * dayMs);
        return (await store.deleteBefore(before, linesAtOnce)) === linesAtOnce;
      },
    },
    start: () => recorder?.start(),
    stop: async () => recorder?.stop(),
  };
}

const operationId = 'listLoggedRequests';

function registerLogRoutes(
  app: FastifyInstance,
  finder: RequestFinder,
  streams: EventStreams,
): void {
  route(app, {
    method: 'GET',
    url: '/logs/v1/requests',
    operationId,
    summary: 'List the logged requests',
    description:
      'The requests of the applications of the organisation, the newest first: method, path, status and ' +
      'code, never a body, a query or a header. The platform writes a line a moment after the response. ' +
      'A setting of the platform limits the number of lines. With `Accept: text/event-stream` the ' +
      'platform sends new lines as events, the oldest first, with the sequence as the id.',
    tags: ['Logs'],
    permission: ['app.read', 'hook.read'],
    query: Type.Object({ ...pageQuery, ...requestLogFilters }, { additionalProperties: false }),
    produces: ['application/json', eventStreamType],
    response: { 200: LoggedRequestList, 204: null },
    errors: ['cursor_invalid', 'header_invalid'],
    priority: 'list',
    async handler(request, reply) {
      const { caller, query } = request;
      const { limit: _limit, cursor: _cursor, ...search } = query;
      if (wantsEventStream(request)) {
        const after = readStreamCursor(request, search.after ?? (await finder.headOf(caller)));
        const read = (behind: number) => finder.streamPage(caller, search, behind);
        return streams.send(request, reply, {
          topic: logTopic(caller.organizationId),
          after,
          read,
        });
      }
      const page = readPageRequest(query, operationId, sequencePattern);
      return pageResponse(await finder.list(caller, search, page), query, operationId);
    },
  });
}

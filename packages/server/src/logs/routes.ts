// The routes of the request log, version 1.
import { LoggedRequestList, requestLogFilters } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  type EventStreams,
  eventStreamType,
  pageQuery,
  pageResponse,
  readPageRequest,
  readStreamCursor,
  route,
  wantsEventStream,
} from '../http/index.ts';
import { type RequestFinder, sequencePattern } from './find-requests.ts';
import { logTopic } from './log-topic.ts';

const operationId = 'listLoggedRequests';

export type LogRoutesDeps = { readonly finder: RequestFinder; readonly streams: EventStreams };

export function registerLogRoutes(app: FastifyInstance, { finder, streams }: LogRoutesDeps): void {
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

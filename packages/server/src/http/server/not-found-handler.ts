// Answers 404 for an unknown path, 405 for an unknown method of a path, and OPTIONS.
import { ProblemError } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ProblemSender } from '../responses/problem-responses.ts';

type KnownPath = { readonly pattern: RegExp; readonly methods: Set<string> };

export type RouteMap = {
  add(method: string | readonly string[], url: string): void;
  /** The methods of all declared paths that match, in the order of declaration. */
  methodsOf(path: string): string[] | undefined;
};

export function createRouteMap(): RouteMap {
  const pathsByUrl = new Map<string, KnownPath>();
  return {
    add(method, url) {
      const entry = pathsByUrl.get(url) ?? { pattern: pathPattern(url), methods: new Set() };
      for (const name of [method].flat()) entry.methods.add(name);
      pathsByUrl.set(url, entry);
    },
    methodsOf(path) {
      const methods = new Set<string>();
      for (const { pattern: form, methods: pathMethods } of pathsByUrl.values()) {
        if (form.test(path)) for (const name of pathMethods) methods.add(name);
      }
      return methods.size === 0 ? undefined : [...methods];
    },
  };
}

function pathPattern(url: string): RegExp {
  const source = url
    .split('/')
    .map((part) => {
      if (part === '*') return '.*';
      return part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    })
    .join('/');
  return new RegExp(`^${source}$`);
}

export function createNotFoundHandler(routes: RouteMap, sendProblem: ProblemSender) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const methods = routes.methodsOf(request.url.split('?', 1)[0] ?? '');
    if (methods === undefined) {
      sendProblem(
        new ProblemError(
          'route_not_found',
          'No operation has this path; check the path of the request.',
        ),
        request,
        reply,
      );
      return;
    }
    const allow = [...methods, 'OPTIONS'].sort().join(', ');
    reply.header('allow', allow);
    if (request.method === 'OPTIONS') {
      reply.code(204).send();
      return;
    }
    const detail = `The path supports ${allow}.`;
    sendProblem(new ProblemError('method_not_allowed', detail), request, reply);
  };
}

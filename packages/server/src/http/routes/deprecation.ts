// The headers and the notice of an operation that will be removed (ADR 0009).
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Days as YYYY-MM-DD in UTC. */
export type Deprecation = {
  /** The day since which the successor exists. */
  readonly since: string;
  /** The day from which the operation may be removed: at least 24 months later. */
  readonly sunset: string;
  /** The path of the operation to use instead. */
  readonly successor: string;
};

const minimumMonths = 24;
const dayPattern = /^\d{4}-\d{2}-\d{2}$/;

function parseDay(day: string): Date {
  const start = new Date(`${day}T00:00:00Z`);
  const isDay = dayPattern.test(day) && start.toJSON()?.startsWith(day) === true;
  if (!isDay) throw new TypeError(`${day} is not a day in the format YYYY-MM-DD`);
  return start;
}

/** The last of February when the deprecation began on 29 February. */
function earliestSunset(since: Date): Date {
  const day = new Date(since);
  day.setUTCMonth(day.getUTCMonth() + minimumMonths);
  if (day.getUTCDate() !== since.getUTCDate()) day.setUTCDate(0);
  return day;
}

/**
 * RFC 9745, RFC 8594 and RFC 5829.
 *
 * @throws TypeError when clients would have less than 24 months
 */
export function deprecationHeaders(facts: Deprecation): Readonly<Record<string, string>> {
  const since = parseDay(facts.since);
  const sunset = parseDay(facts.sunset);
  if (sunset < earliestSunset(since)) {
    throw new TypeError(
      `sunset ${facts.sunset} is less than ${minimumMonths} months after ${facts.since}`,
    );
  }
  return {
    deprecation: `@${since.getTime() / 1000}`,
    sunset: sunset.toUTCString(),
    link: `<${facts.successor}>; rel="successor-version"`,
  };
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void;

/** Runs before all checks, so that problem responses have the headers too. */
export function deprecationHooks(deprecated: Deprecation | undefined): Hook[] {
  if (deprecated === undefined) return [];
  const headers = deprecationHeaders(deprecated);
  return [
    (_request, reply, done) => {
      reply.headers(headers);
      done();
    },
  ];
}

/** The notice in the OpenAPI document. */
export function deprecationNotice({ since, sunset, successor }: Deprecation): string {
  return `Deprecated since ${since} and may be removed from ${sunset}. Use \`${successor}\` instead.`;
}

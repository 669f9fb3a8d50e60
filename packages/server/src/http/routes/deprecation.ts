// Tells of an operation that will be withdrawn, with each of its answers and in the document (ADR 0080).
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Days as YYYY-MM-DD; each begins with UTC's. */
export type Deprecation = {
  /** Since when there is a successor. */
  readonly since: string;
  /** From when on it may be gone: 24 months later at least. */
  readonly sunset: string;
  /** The path of what to use instead. */
  readonly successor: string;
};

const minimumMonths = 24;
const dayPattern = /^\d{4}-\d{2}-\d{2}$/;

function parseDay(day: string): Date {
  const start = new Date(`${day}T00:00:00Z`);
  const isDay = dayPattern.test(day) && start.toJSON()?.startsWith(day) === true;
  if (!isDay) throw new TypeError(`${day} is no day of the form YYYY-MM-DD`);
  return start;
}

/** The first day on which it may be gone; the last of February for what began on a 29th. */
function earliestSunset(since: Date): Date {
  const day = new Date(since);
  day.setUTCMonth(day.getUTCMonth() + minimumMonths);
  if (day.getUTCDate() !== since.getUTCDate()) day.setUTCDate(0);
  return day;
}

/**
 * RFC 9745, RFC 8594 and RFC 5829.
 *
 * @throws TypeError where clients would have less than 24 months
 */
export function deprecationHeaders(facts: Deprecation): Readonly<Record<string, string>> {
  const since = parseDay(facts.since);
  const sunset = parseDay(facts.sunset);
  if (sunset < earliestSunset(since)) {
    throw new TypeError(
      `from ${facts.since} to ${facts.sunset} are less than ${minimumMonths} months`,
    );
  }
  return {
    deprecation: `@${since.getTime() / 1000}`,
    sunset: sunset.toUTCString(),
    link: `<${facts.successor}>; rel="successor-version"`,
  };
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void;

/** Before anything is checked, so that refusals tell it too. */
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

/** For the document. */
export function deprecationNotice({ since, sunset, successor }: Deprecation): string {
  return `Deprecated since ${since}, and may be gone from ${sunset} on: use \`${successor}\`.`;
}

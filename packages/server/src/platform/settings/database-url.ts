// Parses the PostgreSQL URL, which may name several hosts as in libpq.
import { isLoopbackHost } from '../net/address-classes.ts';
import { ValueError, type ValueReader } from './value-readers.ts';

export type DatabaseHost = { readonly host: string; readonly port: number };

export type DatabaseAddress = {
  /** The URL for the driver, which supports one host only: the first one. */
  readonly url: string;
  readonly hosts: readonly DatabaseHost[];
  /** True if only a host that accepts writes may be used. */
  readonly needsWritableHost: boolean;
};

const defaultPort = 5432;
const maxHosts = 16;
const hostParameters = ['host', 'port', 'target_session_attrs'];
/** The values of libpq that the platform supports; the others may lead to a standby. */
const sessionAttributes = new Set(['any', 'read-write', 'primary']);
const urlPattern =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?:(?<user>[^/?#]*)@)?(?<authority>[^/?#]*)(?<rest>.*)$/;
const hostPattern = /^(?<host>\[[0-9A-Fa-f:.]+\]|[^:[\]]*)(?::(?<port>\d*))?$/;

/** @throws ValueFault, which never repeats the address: it may hold a password */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const { scheme, user, authority = '', rest = '' } = urlPattern.exec(text)?.groups ?? {};
  if (scheme === undefined) {
    throw new ValueError('is not a URL that starts with postgresql:// or postgres://');
  }
  const query = parseQuery(rest);
  const hosts = parseHosts(authority, query);
  const attributes = lastParameter(query, 'target_session_attrs');
  if (attributes !== undefined && !sessionAttributes.has(attributes)) {
    throw new ValueError(
      `has target_session_attrs=${attributes}, which the platform does not support; use read-write`,
    );
  }
  const needsWritableHost = hosts.length > 1 || attributes !== undefined;
  const userInfo = user === undefined ? '' : `${user}@`;
  const url = needsWritableHost ? `${scheme}${userInfo}${replaceHosts(hosts, rest, query)}` : text;
  if (!URL.canParse(url)) throw new ValueError('is not a URL such as postgresql://user@host/name');
  return { url, hosts, needsWritableHost };
}

/** The parameters `host` and `port` take precedence over the authority part, as in the driver. */
function parseHosts(authority: string, query: URLSearchParams): DatabaseHost[] {
  const hostParameter = lastParameter(query, 'host');
  const ports = (lastParameter(query, 'port') ?? '').split(',');
  const parts = (hostParameter ?? authority).split(',');
  if (parts.length > maxHosts) throw new ValueError(`names more than ${maxHosts} hosts`);
  if (ports.length > 1 && ports.length !== parts.length) {
    throw new ValueError(`names ${parts.length} hosts and ${ports.length} ports`);
  }
  return parts.map((part, index) => {
    const { host, port } =
      hostParameter === undefined
        ? (hostPattern.exec(part)?.groups ?? {})
        : { host: part, port: undefined };
    const digits = (ports.length > 1 ? ports[index] : ports[0]) || port || String(defaultPort);
    const number = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
    if (host === undefined || number < 1 || number > 65_535) {
      throw new ValueError('contains an invalid host or port');
    }
    if (host === '' && parts.length > 1) throw new ValueError('contains an empty host');
    return { host: decodeHost(host).replace(/^\[|\]$/g, ''), port: number };
  });
}

function decodeHost(host: string): string {
  try {
    return decodeURIComponent(host);
  } catch {
    throw new ValueError('contains a host that is not percent-encoded');
  }
}

function replaceHosts(
  hosts: readonly DatabaseHost[],
  rest: string,
  query: URLSearchParams,
): string {
  const [{ host, port } = { host: '', port: defaultPort }] = hosts;
  const otherParameters = new URLSearchParams(query);
  for (const name of hostParameters) otherParameters.delete(name);
  const name = host.includes(':') ? `[${host}]` : encodeURIComponent(host);
  return `${name}:${port}${/^[^?#]*/.exec(rest)?.[0] ?? ''}?${otherParameters}`;
}

const parseQuery = (text: string) => new URLSearchParams(/\?([^#]*)/.exec(text)?.[1]);

/** The last value of a repeated parameter counts, as in the driver. */
const lastParameter = (query: URLSearchParams, name: string) => query.getAll(name).at(-1);

export const databaseUrlReader: ValueReader<string> = {
  type: 'URL (postgresql, postgres); can contain several hosts, separated by commas',
  read(value) {
    parseDatabaseUrl(value);
    return value;
  },
};

/** True if the URL leads to another machine without TLS, or without a certificate check. */
export function isPlainDatabase(text: string): boolean {
  const { hosts } = parseDatabaseUrl(text);
  const query = parseQuery(text);
  const mode = lastParameter(query, 'sslmode') ?? '';
  const isChecked =
    mode.startsWith('verify-') || (mode === 'require' && !query.has('uselibpqcompat'));
  return !isChecked && hosts.some(({ host }) => !host.startsWith('/') && !isLoopbackHost(host));
}

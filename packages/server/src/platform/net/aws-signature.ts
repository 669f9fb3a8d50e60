// Signs requests to Amazon Web Services: Signature Version 4, including the payload.
import { createHmac, hash } from 'node:crypto';

export type AwsCredentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Session token of temporary credentials. */
  readonly sessionToken?: string | undefined;
};

export type AwsRequest = {
  readonly method: string;
  /** The path is percent-encoded once, as it is sent. */
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type AwsScope = {
  readonly service: string;
  readonly region: string;
  readonly credentials: AwsCredentials;
  /** Epoch milliseconds. */
  readonly now: number;
};

const algorithm = 'AWS4-HMAC-SHA256';

/** RFC 3986 also encodes these characters. */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Every service except S3 expects the path percent-encoded twice. */
const canonicalPath = ({ pathname }: URL): string =>
  pathname.split('/').map(percentEncode).join('/');

function canonicalQuery({ searchParams }: URL): string {
  return [...searchParams]
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .sort()
    .join('&');
}

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

/**
 * Returns the headers to send without `host`: the given ones, the time, the session token and the
 * signature.
 *
 * @example const headers = signAwsRequest(request, { service: 'kms', region, credentials, now: clock.now() });
 */
export function signAwsRequest(request: AwsRequest, scope: AwsScope): Record<string, string> {
  const { method, url, body } = request;
  const { service, region, credentials } = scope;
  const time = new Date(scope.now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = { ...request.headers, 'x-amz-date': time };
  if (credentials.sessionToken !== undefined) {
    headers['x-amz-security-token'] = credentials.sessionToken;
  }
  const canonicalHeaders = Object.entries({ ...headers, host: url.host }).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const signedHeaderNames = canonicalHeaders.map(([name]) => name).join(';');
  const headerLines = canonicalHeaders.map(
    ([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}\n`,
  );
  const canonicalRequest = [
    method,
    canonicalPath(url),
    canonicalQuery(url),
    headerLines.join(''),
    signedHeaderNames,
    hash('sha256', body),
  ].join('\n');
  const credentialScope = `${day}/${region}/${service}/aws4_request`;
  const stringToSign = [algorithm, time, credentialScope, hash('sha256', canonicalRequest)].join(
    '\n',
  );
  const dayKey = hmac(`AWS4${credentials.secretAccessKey}`, day);
  const key = hmac(hmac(hmac(dayKey, region), service), 'aws4_request');
  const signature = hmac(key, stringToSign).toString('hex');
  headers['authorization'] =
    `${algorithm} Credential=${credentials.accessKeyId}/${credentialScope}, SignedHeaders=${signedHeaderNames}, Signature=${signature}`;
  return headers;
}

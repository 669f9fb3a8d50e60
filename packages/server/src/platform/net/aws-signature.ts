// Signs requests to Amazon Web Services: Signature Version 4, with the payload in the signature.
import { createHmac, hash } from 'node:crypto';

export type AwsCredentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of credentials that expire. */
  readonly sessionToken?: string | undefined;
};

export type AwsRequest = {
  readonly method: string;
  /** Its path is encoded once, as it is sent. */
  readonly url: URL;
  /** Names in small letters. */
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

/** RFC 3986 leaves these four alone less than JavaScript does. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Every service but S3 wants the sent path encoded once more. */
const canonicalPath = ({ pathname }: URL): string => pathname.split('/').map(encoded).join('/');

function canonicalQuery({ searchParams }: URL): string {
  return [...searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
}

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

/**
 * The headers to send, `host` left out of them: those given, the time, the session and the
 * signature.
 *
 * @example const headers = signAws(request, { service: 'kms', region, credentials, now: clock.now() });
 */
export function signAws(request: AwsRequest, scope: AwsScope): Record<string, string> {
  const { method, url, body } = request;
  const { service, region, credentials } = scope;
  const time = new Date(scope.now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const sent: Record<string, string> = { ...request.headers, 'x-amz-date': time };
  if (credentials.sessionToken !== undefined) {
    sent['x-amz-security-token'] = credentials.sessionToken;
  }
  const signed = Object.entries({ ...sent, host: url.host }).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const names = signed.map(([name]) => name).join(';');
  const lines = signed.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}\n`);
  const canonical = [
    method,
    canonicalPath(url),
    canonicalQuery(url),
    lines.join(''),
    names,
    hash('sha256', body),
  ].join('\n');
  const place = `${day}/${region}/${service}/aws4_request`;
  const text = [algorithm, time, place, hash('sha256', canonical)].join('\n');
  const dayKey = hmac(`AWS4${credentials.secretAccessKey}`, day);
  const key = hmac(hmac(hmac(dayKey, region), service), 'aws4_request');
  const signature = hmac(key, text).toString('hex');
  sent['authorization'] =
    `${algorithm} Credential=${credentials.accessKeyId}/${place}, SignedHeaders=${names}, Signature=${signature}`;
  return sent;
}

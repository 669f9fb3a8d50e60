// Asks one thing after another over kept connections, for what is set up and for what is walked through.
import type { HttpsConnections } from '../sales/https-connections.ts';

export type EstateResponse = { status: number; body: string };

/** @throws Error where the connection is lost before the answer */
export function sendRequest(exchange: HttpsConnections, text: string): Promise<EstateResponse> {
  return new Promise((resolve, reject) => {
    const isSent = exchange.send(text, (answer, lost = 'lost') => {
      if (answer === undefined) return reject(new Error(`no answer: ${lost}`));
      const { status, bytes, bodyStart, bodyEnd } = answer;
      resolve({ status, body: bytes.toString('utf8', bodyStart, bodyEnd) });
    });
    if (!isSent) reject(new Error('every connection is busy'));
  });
}

export type EstateCaller = {
  call(method: string, path: string, body?: object): Promise<Record<string, unknown>>;
};

/** Asks as one application, and takes no answer but a good one. */
export function createEstateCaller(
  exchange: HttpsConnections,
  authority: string,
  token: string,
): EstateCaller {
  return {
    async call(method, path, body) {
      const content = body === undefined ? '' : JSON.stringify(body);
      const length = Buffer.byteLength(content);
      const headers =
        body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${length}\r\n`;
      const answer = await sendRequest(
        exchange,
        `${method} ${path} HTTP/1.1\r\nHost: ${authority}\r\nAuthorization: Bearer ${token}\r\n${headers}\r\n${content}`,
      );
      if (answer.status >= 300)
        throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
      return answer.body === '' ? {} : (JSON.parse(answer.body) as Record<string, unknown>);
    },
  };
}

type Credentials = { clientId: string; clientSecret: string };

export async function fetchToken(
  exchange: HttpsConnections,
  authority: string,
  realm: string,
  { clientId, clientSecret }: Credentials,
): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  }).toString();
  const { status, body } = await sendRequest(
    exchange,
    `POST /oauth2/v1/${realm}/token HTTP/1.1\r\nHost: ${authority}\r\n` +
      `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n${form}`,
  );
  if (status !== 200) throw new Error(`no token: ${status} ${body}`);
  return String((JSON.parse(body) as Record<string, unknown>)['access_token']);
}

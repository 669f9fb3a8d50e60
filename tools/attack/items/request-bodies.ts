// Item 7: the server does not read bodies after its response, and closes half-sent requests.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import {
  maxAcceptedBytes,
  sendEndlessBody,
} from '../../../packages/server/test/support/send-endless-body.ts';
import { waitForSocketClose } from '../../../packages/server/test/support/wait-for-socket-close.ts';
import type { Attack, Attempts } from '../attack.ts';
import type { Production } from '../platforms.ts';

const halfSentLimitMs = 15_000;
/** For a busy machine, and for the interval at which the server checks its connections. */
const toleranceMs = 6_000;

type RequestTarget = { readonly path: string; readonly type: string; readonly hasToken: boolean };

const targetsOf = (realm: string): readonly RequestTarget[] => [
  { path: '/provisioning/v2/bulk?bulkId=attack', type: 'application/jsonl', hasToken: true },
  { path: '/provisioning/v2/bulk?bulkId=attack', type: 'text/csv', hasToken: true },
  { path: '/provisioning/v2/bulk?bulkId=attack', type: 'image/png', hasToken: true },
  { path: '/provisioning/v2/bulk?bulkId=attack', type: 'application/jsonl', hasToken: false },
  { path: '/reporting/v1/reconciliations?from=x', type: 'text/csv', hasToken: true },
  { path: '/reporting/v1/reconciliations', type: 'text/csv', hasToken: true },
  { path: '/reporting/v1/reconciliations', type: 'text/csv', hasToken: false },
  { path: '/payment/v1/transactions/process', type: 'application/json', hasToken: true },
  { path: '/provisioning/v2/merchants', type: 'application/json', hasToken: true },
  { path: '/onboarding/v1/sign-ups', type: 'application/json', hasToken: false },
  { path: `/oauth2/v1/${realm}/token`, type: 'application/x-www-form-urlencoded', hasToken: false },
  { path: `/auth/realms/${realm}/custom-token`, type: 'text/plain', hasToken: false },
  { path: '/portal/session', type: 'application/json', hasToken: false },
  { path: '/nothing', type: 'application/json', hasToken: false },
];

async function openConnection({ platform }: Production): Promise<TLSSocket> {
  const ca = readFileSync(platform.caFile, 'utf8');
  const { hostname, port } = new URL(platform.baseUrl);
  const socket = connect({ host: hostname, port: Number(port), ca, servername: 'localhost' });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

function headOf(
  { platform, attacker }: Production,
  { path, type, hasToken }: RequestTarget,
  length: string,
): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(platform.baseUrl).host}`,
    `Content-Type: ${type}`,
    length,
    ...(hasToken ? [`Authorization: Bearer ${attacker.token}`] : []),
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

async function sendEndlessBodies(attempts: Attempts, production: Production): Promise<void> {
  for (const target of targetsOf(production.attacker.realm)) {
    for (const length of ['Transfer-Encoding: chunked', `Content-Length: ${2 ** 40}`]) {
      const socket = await openConnection(production);
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.write(headOf(production, target, length));
      if (length.startsWith('Transfer')) socket.write('10000000000\r\n');
      const { acceptedBytes, isClosedByServer } = await sendEndlessBody(socket);
      const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 'no response';
      attempts.record({
        description: `${target.path} (${target.type}, ${length}): ${acceptedBytes} bytes`,
        response: `endless body: ${status}, then ${isClosedByServer ? 'closed' : 'still open'}`,
        isDefended: isClosedByServer && acceptedBytes < maxAcceptedBytes,
      });
    }
  }
}

/** Each client stops in the header, in the body or before the request, or sends one byte each second. */
async function sendHalfRequests(attempts: Attempts, production: Production): Promise<void> {
  const targets = targetsOf(production.attacker.realm);
  const completeHeaders = targets.map((target) =>
    headOf(production, target, 'Content-Length: 1000'),
  );
  const starts = [
    ...completeHeaders.map((head) => ({
      kind: 'half a header',
      bytes: head.slice(0, -10),
      sendsByteByByte: false,
    })),
    ...completeHeaders.map((head) => ({
      kind: 'half a body',
      bytes: `${head}{"name":`,
      sendsByteByByte: false,
    })),
    ...completeHeaders.map((head) => ({
      kind: 'a body byte by byte',
      bytes: head,
      sendsByteByByte: true,
    })),
    {
      kind: 'a header byte by byte',
      bytes: 'GET / HTTP/1.1\r\nHost: local',
      sendsByteByByte: true,
    },
    { kind: 'nothing', bytes: '', sendsByteByByte: false },
  ];
  await Promise.all(
    starts.map(async ({ kind, bytes, sendsByteByByte }) => {
      const socket = await openConnection(production);
      const beganMs = performance.now();
      let isOpen = true;
      const end = waitForSocketClose(socket.resume()).then(() => {
        isOpen = false;
      });
      socket.write(bytes);
      while (
        sendsByteByByte &&
        isOpen &&
        performance.now() - beganMs < halfSentLimitMs + toleranceMs
      ) {
        socket.write('x');
        await Promise.race([pause(1_000), end]);
      }
      await Promise.race([pause(halfSentLimitMs + toleranceMs), end]);
      const seconds = Math.round((performance.now() - beganMs) / 1000);
      const isDefended = !isOpen && seconds * 1000 <= halfSentLimitMs + toleranceMs;
      socket.destroy();
      const response = `${kind}: ${isOpen ? 'still open' : 'closed'}`;
      attempts.record({
        description: `${kind} (${bytes.split(' HTTP')[0]}), ${seconds} s`,
        response,
        isDefended,
      });
    }),
  );
}

export const requestBodiesAttack: Attack = {
  item: 7,
  name: 'bodies after the response, half-sent requests',
  async run(attempts, platforms) {
    const production = await platforms.production();
    await sendEndlessBodies(attempts, production);
    await sendHalfRequests(attempts, production);
  },
};

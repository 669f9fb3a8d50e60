// An SMTP server for one test: it accepts every mail and lists the mails of each recipient.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { until } from '../wait-for-result.ts';

export type SmtpTestServer = {
  /** The value for the setting SMTP_URL. */
  readonly url: string;
  /** The first mail to an address that matches the pattern, with its soft line breaks removed. */
  mailTo(address: string, pattern: RegExp): Promise<string>;
  /** All mails to an address in any letter case, with their soft line breaks removed. */
  mailsTo(address: string): string[];
  close(): Promise<void>;
};

/** @param refusals error replies to lines that match, such as a line that names a mailbox */
export async function startSmtpTestServer(
  refusals: readonly (readonly [RegExp, string])[] = [],
): Promise<SmtpTestServer> {
  const mails: string[] = [];
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.write('220 test\r\n');
    let mail: string[] | undefined;
    let unparsed = '';
    const reply = (line: string): string => {
      if (mail === undefined) {
        const refusal = refusals.find(([pattern]) => pattern.test(line));
        if (refusal !== undefined) return refusal[1];
        if (line === 'DATA') mail = [];
        return line === 'DATA' ? '354 go on' : line === 'QUIT' ? '221 bye' : '250 ok';
      }
      if (line !== '.') {
        mail.push(line);
        return '';
      }
      mails.push(mail.join('\r\n'));
      mail = undefined;
      return '250 taken';
    };
    socket.on('data', (chunk) => {
      const lines = (unparsed + chunk.toString()).split('\r\n');
      unparsed = lines.pop() ?? '';
      for (const replyLine of lines.map(reply))
        if (replyLine !== '') socket.write(`${replyLine}\r\n`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const mailsTo = (address: string) =>
    mails
      .filter((mail) => mail.toLowerCase().includes(`to: ${address.toLowerCase()}`))
      .map((mail) => mail.replaceAll('=\r\n', ''));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mailTo: (address, pattern) =>
      until(() => mailsTo(address).find((mail) => pattern.test(mail)), `mail to ${address}`),
    mailsTo,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

// Mail: stored in files in the demo, sent over SMTP otherwise, and never without TLS to another machine.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import PostalMime from 'postal-mime';
import { systemIdGenerator } from '../identifiers/ids.ts';
import { createMail } from './create-mail.ts';
import { deliverMail } from './deliver-mail.ts';
import { mailDirectory } from './mail-files.ts';
import { MailError, type MailMessage, type MailRejection } from './smtp-mail.ts';

const clock = { now: () => Date.UTC(2027, 0, 15, 8) };
const mailFrom = 'Café Switchyard <no-reply@shop.example>';
const message: MailMessage = {
  mailId: 'b7c0',
  to: 'ann@shop.example',
  subject: 'Réinitialisez votre mot de passe',
  text: 'Bonjour été\nhttps://localhost/links/abc\n',
  html: '<p>Bonjour été</p>',
  language: 'fr',
};

type Fake = { port: number; receivedLines: string[] };

/** Closed after the test, also after a failure. */
let opened: { close(): Promise<void> }[] = [];

/** Responds line by line with the first response that matches. */
async function openFake(answers: [RegExp, string][], greeting = '220 fake\r\n'): Promise<Fake> {
  const receivedLines: string[] = [];
  const sockets = new Set<{ destroy(): void }>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.write(greeting);
    let inData = false;
    let rest = '';
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        receivedLines.push(line);
        if (inData && line !== '.') continue;
        inData = line === 'DATA';
        const knownReplies = answers.find(([pattern]) => pattern.test(line));
        const answer =
          knownReplies?.[1] ?? (inData ? '354 go' : line === 'QUIT' ? '221 bye' : '250 ok');
        socket.write(`${answer}\r\n`);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push({
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  });
  return { port: (server.address() as AddressInfo).port, receivedLines };
}

describe('mail', () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-mail-'));
  });
  after(() => rm(dataDir, { recursive: true, force: true }));
  afterEach(async () => {
    // Newest first: a mail closes its connections before its server.
    const all = opened.reverse();
    opened = [];
    for (const each of all) await each.close();
  });

  function mailTo(smtpUrl?: string, mailTimeoutMs = 30_000) {
    const settings = { dataDir, mailFrom, mailTimeoutMs, smtpUrl };
    const mail = createMail({ settings, clock, ids: systemIdGenerator });
    opened.push(mail);
    return mail;
  }

  // Spec: SET-22 START-17
  test('without a mail server mails are stored in files: newest last, readable for the owner only', async () => {
    const mail = mailTo();
    await mail.open();
    const directory = mailDirectory({ dataDir });
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
    assert.deepEqual(await readdir(directory), []);
    await mail.send(message);
    await mail.send({ ...message, mailId: 'b7c1', subject: 'second' });
    const names = (await readdir(directory)).sort();
    assert.equal(names.length, 2);
    assert.ok(names.every((name) => /^2027-01-15T080000\.000Z-.+\.eml$/.test(name)));
    assert.equal((await stat(join(directory, names[0] ?? ''))).mode & 0o777, 0o600);
    const read = await Promise.all(
      names.map(async (name) => PostalMime.parse(await readFile(join(directory, name)))),
    );
    assert.deepEqual(
      read.map(({ subject }) => subject),
      [message.subject, 'second'],
    );
    const [first] = read;
    assert.equal(first?.text?.trim(), message.text.trim());
    assert.equal(first?.html?.trim(), message.html);
    assert.equal(first?.from?.address, 'no-reply@shop.example');
    assert.equal(first?.messageId, '<b7c0@shop.example>');
    assert.equal(first?.date, '2027-01-15T08:00:00.000Z');
  });

  test('mail is sent to the configured server', async () => {
    const fake = await openFake([]);
    const mail = mailTo(`smtp://127.0.0.1:${fake.port}`);
    await mail.send(message);
    assert.ok(fake.receivedLines.includes('RCPT TO:<ann@shop.example>'));
    assert.ok(fake.receivedLines.some((line) => line.includes('Content-Language: fr')));
  });

  test('text in a mail cannot start a header or read a file', async () => {
    const fake = await openFake([]);
    const mail = mailTo(`smtp://127.0.0.1:${fake.port}`);
    await mail.send({
      ...message,
      subject: 'a\r\nBcc: eve@x.example',
      to: 'ann@shop.example\r\nBcc: eve@x.example',
    });
    assert.equal(
      fake.receivedLines.some((line) => /^Bcc:|^RCPT TO:<eve/.test(line)),
      false,
    );
  });

  test('a rejection is reported without addresses', async () => {
    const fake = await openFake([[/^RCPT/, '550 5.1.1 <ann@shop.example> is unknown']]);
    const mail = mailTo(`smtp://127.0.0.1:${fake.port}`);
    await assert.rejects(mail.send(message), (error: Error) => {
      assert.match(error.message, /did not accept the mail \(EENVELOPE 550/);
      assert.equal(JSON.stringify([error.message, error.stack]).includes('ann@'), false);
      return true;
    });
  });

  test('an unknown mailbox is rejected permanently; a rejected sender is not', async () => {
    for (const [reply, rejection] of [
      ['550 5.1.1 no such mailbox', 'NoMailbox'],
      ['550 sorry, no mailbox here by that name (#5.1.1)', 'NoMailbox'],
      ['550 5.1.2 no such domain', 'NoMailbox'],
      ['556 5.1.10 the domain takes no mail', 'NoMailbox'],
      ['550 5.2.1 mailbox disabled', 'NoMailbox'],
      ['550 relay not permitted', 'Permanent'],
      ['550 Sender verify failed', 'Permanent'],
      ['550 5.1.8 the domain of the sender is not found', 'Permanent'],
      ['550 5.1.7 the sender is unknown', 'Permanent'],
      ['550 5.1.11 one that is not known', 'Permanent'],
      ['553 not allowed', 'Permanent'],
      ['552 5.2.2 mailbox full', 'Permanent'],
      ["553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)", 'None'],
      ['554 5.7.1 relay access denied', 'None'],
      ['530 5.7.0 authenticate first', 'None'],
      ['450 4.2.0 greylisted', 'None'],
    ] as const) {
      const fake = await openFake([[/^RCPT/, reply]]);
      const mail = mailTo(`smtp://127.0.0.1:${fake.port}`);
      await assert.rejects(mail.send(message), { name: 'MailError', rejection }, reply);
    }
    const fake = await openFake([[/^MAIL/, '550 5.1.8 no such sender']]);
    const mail = mailTo(`smtp://127.0.0.1:${fake.port}`);
    await assert.rejects(mail.send(message), { name: 'MailError', rejection: 'None' });
  });

  test('the server stops sending a mail at once, after half a day or after five days, depending on the SMTP response', async () => {
    const isGivenUp = async (rejection: MailRejection, attempts: number) => {
      const warned: unknown[] = [];
      const deps = {
        mail: { send: () => Promise.reject(new MailError('not taken', rejection)) },
        log: { warn: (facts: unknown) => void warned.push(facts) },
      };
      const job = { organizationId: 'o', jobId: 'j', kind: 'k', payload: {}, attempts, dueAt: 0 };
      const isDone = await deliverMail(deps, job, message).then(
        () => true,
        () => false,
      );
      assert.equal(warned.length, isDone ? 1 : 0);
      return isDone;
    };
    assert.equal(await isGivenUp('NoMailbox', 0), true);
    assert.equal(await isGivenUp('Permanent', 99), false);
    assert.equal(await isGivenUp('Permanent', 100), true);
    assert.equal(await isGivenUp('None', 999), false);
    assert.equal(await isGivenUp('None', 1_000), true);
  });

  test('another machine without TLS receives neither password nor mail', async () => {
    const fake = await openFake([[/^STARTTLS/, '502 not here']]);
    // This machine by an address that is not loopback.
    const mail = mailTo(`smtp://user:sesame@0.0.0.0:${fake.port}`);
    await assert.rejects(mail.send(message), /did not accept the mail \(ETLS/);
    assert.equal(
      fake.receivedLines.some((line) => /^AUTH|^MAIL|^RCPT/.test(line)),
      false,
    );
  });

  test('a silent mail server is an error after the time-out', async () => {
    const fake = await openFake([], '');
    const mail = mailTo(`smtp://127.0.0.1:${fake.port}`, 300);
    await assert.rejects(mail.send(message), /did not accept the mail \(ETIMEDOUT/);
  });
});

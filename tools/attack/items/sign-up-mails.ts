// Item 6: a sign-up puts no link into a mail of the platform, and cannot be used to send many mails.
import { randomUUID } from 'node:crypto';
import PostalMime from 'postal-mime';
import { until } from '../../../packages/server/test/support/wait-for-result.ts';
import type { Attack, Attempts } from '../attack.ts';
import { describeResponse } from '../describe-response.ts';
import type { Production } from '../platforms.ts';

const signUps = '/onboarding/v1/sign-ups';
/** Each contains a name of the domain evil.example, or a text that a mail program turns into a link. */
const names = [
  'Click http://evil.example',
  'evil.example',
  'EVIL.EXAMPLE',
  'www.evil.example',
  'a@evil.example',
  'https:evil',
  '//evil.example',
  'evil。example',
  'evil．example',
  'evil.\u200bexample',
  '<a href="x">Ann</a>',
  '[Ann](http://evil.example)',
  'Ann\r\nBcc: all@evil.example',
  'evil%2Eexample',
  'mailto:a',
  'javascript:alert(1)',
  'Ann\u202eelpmaxe.live',
  'tel:+331',
  '192.0.2.1',
  'x'.repeat(61),
];
const attackerLinkPattern = /evil\.example|http:\/\/|www\.|mailto:|javascript:|tel:|<a href="x"/i;
/** By hour and address, and by day and recipient. */
const limits = { address: 60, recipient: 3 };

const inputOf = (members: object) => ({
  organizationName: `Bank ${randomUUID()}`,
  persona: 'Acquirer',
  email: `target-${randomUUID()}@bank.example`,
  givenName: 'Ann',
  familyName: 'Carter',
  country: 'FR',
  ...members,
});

/** The headers and both parts of a mail, without its transfer encoding. */
async function decodeMail(mail: string): Promise<string> {
  const { headers, text = '', html = '' } = await PostalMime.parse(mail);
  return [...headers.map(({ key, value }) => `${key}: ${value}`), text, html].join('\n');
}

async function sendLinks(
  attempts: Attempts,
  { clientFrom, platform, operatorToken, create }: Production,
) {
  const hasLink = (mail: string, name: string) => {
    const text = mail.replaceAll(platform.baseUrl, '');
    return text.includes(name) || attackerLinkPattern.test(text);
  };
  for (const field of ['givenName', 'familyName', 'organizationName'] as const) {
    // One address may send 60 sign-ups in an hour.
    const client = clientFrom(field === 'organizationName' ? '127.0.0.11' : '127.0.0.12');
    for (const name of names) {
      const email = `mark-${randomUUID()}@bank.example`;
      const { status, body } = await client.call('POST', signUps, {
        body: inputOf({ email, [field]: name }),
      });
      const answer = describeResponse({ status, body });
      if (status >= 400) {
        const isDefended = status === 422;
        attempts.record({
          description: `${field} ${name}`,
          response: `link in ${field}: ${answer}`,
          isDefended,
        });
        continue;
      }
      await platform.mail.mailTo(email, /./);
      const mails = await Promise.all(platform.mail.mailsTo(email).map(decodeMail));
      const isLinked = mails.some((mail) => hasLink(mail, name));
      const response = `link in ${field}: ${answer}, mail ${isLinked ? 'with' : 'without'} the link`;
      attempts.record({ description: `${field} ${name}`, response, isDefended: !isLinked });
    }
  }
  const { items } = await create(operatorToken, `${signUps}?status=Pending`, undefined, 'GET');
  attempts.requireControl('some sign-ups were accepted', items.length > 0);
}

async function sendManySignUps(
  attempts: Attempts,
  { clientFrom, platform }: Production,
): Promise<void> {
  const recipient = `often-${randomUUID()}@bank.example`;
  const [local = '', domain = ''] = recipient.split('@');
  const forms = [
    recipient,
    recipient.toUpperCase(),
    `${local}+x@${domain}`,
    `${local}+y@${domain}`,
  ];
  const [oneRecipient, oneAddress] = [clientFrom('127.0.0.13'), clientFrom('127.0.0.14')];
  for (let count = 0; count < 12; count += 1) {
    const email = forms[count % forms.length];
    const { status, body } = await oneRecipient.call('POST', signUps, { body: inputOf({ email }) });
    const response = `one recipient: ${describeResponse({ status, body })}`;
    attempts.record({
      description: `sign-up ${count}`,
      response,
      isDefended: status === 202 || status === 429,
    });
  }
  const mailboxes = forms.filter((each) => each === each.toLowerCase());
  const sent = () => mailboxes.flatMap((email) => platform.mail.mailsTo(email)).length;
  await until(() => sent() >= limits.recipient || undefined, 'the mails that are allowed');
  let accepted = 0;
  for (let count = 0; count < limits.address * 2; count += 1) {
    const headers = { 'x-forwarded-for': `198.51.100.${count % 250}` };
    const { status, body } = await oneAddress.call('POST', signUps, { headers, body: inputOf({}) });
    accepted += status === 202 ? 1 : 0;
    const response = `one address: ${describeResponse({ status, body })}`;
    attempts.record({
      description: `sign-up ${count}`,
      response,
      isDefended: accepted <= limits.address,
    });
  }
  const mails = sent();
  attempts.record({
    description: `mails to ${recipient} in four forms`,
    response: `mails to one recipient: ${mails}`,
    isDefended: mails <= limits.recipient,
  });
}

export const signUpMailsAttack: Attack = {
  item: 6,
  name: 'links in the names of sign-ups, and many mails',
  async run(attempts, platforms) {
    const production = await platforms.production();
    await sendLinks(attempts, production);
    await sendManySignUps(attempts, production);
  },
};

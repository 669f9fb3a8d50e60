// Item 2: serial numbers of other organisations can be neither blocked, nor learned, nor claimed.

import { formatTsn } from '@switchyard/contract';
import { createCertificateRequest } from '../../../packages/server/test/support/provisioning/test-devices.ts';
import { createManufacturer } from '../../../packages/server/test/support/provisioning/test-manufacturer.ts';
import type { Attack, Attempts } from '../attack.ts';
import { describeResponse, isClientError, toComparableText } from '../describe-response.ts';
import type { Organization, Production } from '../platforms.ts';
import { newSerial } from '../requests.ts';

const devices = '/provisioning/v2/physical-devices';
const model = { make: 'AXIUM', model: 'DX8000', family: 'axium' };
const serialCount = 20;
const guessCount = 60;
const codeAlphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';
const displayedCode = 'K7QM-2F9X';

type DeviceCertificate = { readonly cert: string; readonly key: string };

const tsnOf = (serialNumber: string) => formatTsn({ ...model, serialNumber });

const register = ({ call }: Production, { token }: Organization, serialNumber: string) =>
  call(token, 'POST', devices, { body: { serialNumber, ...model } });

const enterCode = ({ call }: Production, { token }: Organization, id: string, claimCode: string) =>
  call(token, 'POST', `${devices}/${id}/claim`, { body: { claimCode } });

/** What the terminal sends to claim itself: a code, or the user domain that it works for. */
async function sendClaim({ platform }: Production, certificate: DeviceCertificate, body: object) {
  const { security, api } = platform.asDevice(certificate);
  try {
    return await security.call('POST', '/oauth2-mtls/v1/claims', { body });
  } finally {
    security.close();
    api.close();
  }
}

/** A certificate of the platform, as the organisation gives it to its terminal. */
async function certify(
  { create }: Production,
  { token }: Organization,
  id: string,
): Promise<DeviceCertificate> {
  const { key, csr } = await createCertificateRequest();
  const { certificateChain: cert } = await create(token, `${devices}/${id}/certificates`, {
    certificateRequest: csr,
  });
  return { cert, key };
}

function guessedCode({ random }: Attempts): string {
  const letters = Array.from({ length: 8 }, () => random.pick([...codeAlphabet]));
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`;
}

/** The attacker creates consecutive serials before and after the victim, and compares the responses. */
async function registerSerialsOfOthers(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, victim } = production;
  const first = Number(newSerial(attempts));
  for (let index = 0; index < serialCount; index += 1) {
    const serialNumber = String(first + index);
    const isFirst = index % 2 === 0;
    const [one, two] = isFirst ? [attacker, victim] : [victim, attacker];
    await register(production, one, serialNumber);
    const answer = await register(production, two, serialNumber);
    const response = `registering a serial of another organisation: ${describeResponse(answer)}`;
    attempts.record({ description: serialNumber, response, isDefended: answer.status === 201 });
    if (isFirst) continue;
    const free = newSerial(attempts);
    const other = await register(production, attacker, free);
    const isSame = toComparableText(answer, serialNumber) === toComparableText(other, free);
    attempts.record({
      description: `${serialNumber} and the free ${free}`,
      response: `taken and free serial: ${isSame ? 'same response' : 'different responses'}`,
      isDefended: isSame,
    });
  }
}

async function readForeignSerial(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, victim, call, create } = production;
  const serialNumber = newSerial(attempts);
  const { body } = await register(production, victim, serialNumber);
  const paths = [
    `${devices}/${body.physicalDeviceId}`,
    `${devices}/${body.physicalDeviceId}/certificates`,
    `${devices}?serialNumber=${serialNumber}`,
    `${devices}?limit=200`,
    `/provisioning/v2/claim-conflicts?status=Open`,
  ];
  for (const path of paths) {
    const answer = await call(attacker.token, 'GET', path);
    const isDefended = !answer.text.includes(serialNumber);
    const response = `reading serials of others: ${describeResponse(answer)}`;
    attempts.record({ description: path, response, isDefended });
  }
  const { items } = await create(victim.token, `${devices}?limit=200`, undefined, 'GET');
  const isSeen = items.some(
    (item: Record<string, string>) => item['serialNumber'] === serialNumber,
  );
  attempts.requireControl('the victim reads its own serial', isSeen);
}

async function importForeignSerial(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, victim, call } = production;
  const [taken, free] = [newSerial(attempts), newSerial(attempts)];
  await register(production, victim, taken);
  const answers = [];
  for (const serialNumber of [taken, free]) {
    const line = { type: 'physicalDevice', operation: 'create', data: { serialNumber, ...model } };
    const bulkId = `attack-${serialNumber}`;
    const answer = await call(attacker.token, 'POST', `/provisioning/v2/bulk?bulkId=${bulkId}`, {
      raw: JSON.stringify(line),
      headers: { 'content-type': 'application/jsonl' },
    });
    answers.push(toComparableText(answer, serialNumber, bulkId));
  }
  const isSame = answers[0] === answers[1];
  const response = `importing a taken and a free serial: ${isSame ? 'same' : 'different'} responses`;
  attempts.record({ description: answers.join('\n'), response, isDefended: isSame });
}

/** The attacker guesses, copies the code from the display, and replays a certificate that it has seen. */
async function claimForeignTerminal(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, victim, call, create } = production;
  const serialNumber = newSerial(attempts);
  const { body: own } = await register(production, victim, serialNumber);
  const { body: copy } = await register(production, attacker, serialNumber);
  const certificate = await certify(production, victim, own.physicalDeviceId);
  await sendClaim(production, certificate, { claimCode: displayedCode });
  const statusOf = async ({ token }: Organization, id: string) =>
    (await create(token, `${devices}/${id}`, undefined, 'GET')).claimStatus;

  const foreign = await enterCode(production, attacker, own.physicalDeviceId, displayedCode);
  attempts.record({
    description: 'the right code at the device of the victim',
    response: `code at a foreign device: ${describeResponse(foreign)}`,
    isDefended: foreign.status === 404,
  });
  const copied = await enterCode(production, attacker, copy.physicalDeviceId, displayedCode);
  attempts.record({
    description: 'the right code, read from the display, at a copy of the device',
    response: `copied code: ${describeResponse(copied)}`,
    isDefended: copied.status === 422,
  });
  for (let count = 0; count < guessCount; count += 1) {
    const answer = await enterCode(
      production,
      attacker,
      copy.physicalDeviceId,
      guessedCode(attempts),
    );
    const response = `guessed code: ${describeResponse(answer)}`;
    attempts.record({
      description: `guess ${count}`,
      response,
      isDefended: isClientError(answer.status),
    });
  }
  const made = await call(
    attacker.token,
    'POST',
    `${devices}/${copy.physicalDeviceId}/certificates`,
    {
      body: { certificate: certificate.cert.split(/(?<=-----END CERTIFICATE-----)/)[0] },
    },
  );
  const claimStatus = await statusOf(attacker, copy.physicalDeviceId);
  attempts.record({
    description: 'the certificate of the victim, registered by the attacker',
    response: `replayed certificate: ${describeResponse(made)}, then ${claimStatus}`,
    isDefended: claimStatus === 'Unclaimed',
  });
  const entered = await enterCode(production, victim, own.physicalDeviceId, displayedCode);
  attempts.requireControl(
    `the victim claims its terminal after the attack: ${describeResponse(entered)}`,
    entered.body?.claimStatus === 'Claimed',
  );
}

/** Guesses at a code that the attacker's own imitation of the terminal waits for. */
async function exhaustCode(attempts: Attempts, production: Production): Promise<void> {
  const { attacker } = production;
  const { body } = await register(production, attacker, newSerial(attempts));
  const certificate = await certify(production, attacker, body.physicalDeviceId);
  await sendClaim(production, certificate, { claimCode: displayedCode });
  for (let count = 0; count < 5; count += 1) {
    await enterCode(production, attacker, body.physicalDeviceId, guessedCode(attempts));
  }
  const answer = await enterCode(production, attacker, body.physicalDeviceId, displayedCode);
  attempts.record({
    description: 'the right code after five wrong ones',
    response: `code after five wrong ones: ${describeResponse(answer)}`,
    isDefended: answer.status === 422,
  });
}

async function useCertificates(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, victim, create, manufacturer } = production;
  const serialNumber = newSerial(attempts);
  const subject = { serialNumber, tsn: tsnOf(serialNumber) };
  const { body: own } = await register(production, victim, serialNumber);
  const { body: copy } = await register(production, attacker, serialNumber);
  const imitation = await certify(production, attacker, copy.physicalDeviceId);
  await sendClaim(production, imitation, { claimCode: displayedCode });
  await enterCode(production, attacker, copy.physicalDeviceId, displayedCode);
  const forger = await createManufacturer('Terminals Ltd');
  const forged = await sendClaim(production, await forger.issueCertificate(subject), {
    userDomain: attacker.realm,
  });
  attempts.record({
    description: 'a certificate of an authority that only has the name of the manufacturer',
    response: `forged manufacturer: ${describeResponse(forged)}`,
    isDefended: forged.status === 401,
  });
  const terminal = await manufacturer.issueCertificate(subject);
  const copied = await production.call(
    attacker.token,
    'POST',
    `${devices}/${copy.physicalDeviceId}/certificates`,
    { body: { certificate: terminal.cert } },
  );
  const real = await sendClaim(production, terminal, { userDomain: victim.realm });
  attempts.requireControl(
    `the terminal proves itself by the certificate of its manufacturer: ${describeResponse(real)}`,
    real.body?.claimStatus === 'Claimed',
  );
  const status = async ({ token }: Organization, id: string) =>
    (await create(token, `${devices}/${id}`, undefined, 'GET')).claimStatus;
  const after = [
    await status(victim, own.physicalDeviceId),
    await status(attacker, copy.physicalDeviceId),
  ];
  attempts.record({
    description: 'the certificate of the manufacturer, registered by the attacker first',
    response: `copied certificate of the manufacturer: ${describeResponse(copied)}, then ${after[1]}`,
    isDefended: after[1] === 'Unclaimed',
  });
  attempts.record({
    description: 'a claim by code of the attacker against the certificate of the manufacturer',
    response: `victim ${after[0]}, attacker ${after[1]}`,
    isDefended: after[0] === 'Claimed' && after[1] === 'Unclaimed',
  });
  const { security, api } = production.platform.asDevice(imitation);
  const lookup = await security.call('GET', '/oauth2-mtls/v1/merchants-credentials');
  security.close();
  api.close();
  attempts.record({
    description: 'a connection of the imitation in production',
    response: `imitated terminal: ${describeResponse(lookup)}`,
    isDefended: lookup.status === 403,
  });
}

export const serialNumbersAttack: Attack = {
  item: 2,
  name: 'serial numbers and claim codes of other organisations',
  async run(attempts, platforms) {
    const production = await platforms.production();
    await registerSerialsOfOthers(attempts, production);
    await readForeignSerial(attempts, production);
    await importForeignSerial(attempts, production);
    await claimForeignTerminal(attempts, production);
    await exhaustCode(attempts, production);
    await useCertificates(attempts, production);
  },
};

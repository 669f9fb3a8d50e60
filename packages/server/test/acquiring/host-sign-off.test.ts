// A host that signs off: sales go to the standby acquirer until the host accepts a sign-on again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  approve,
  encodeMessageFrame,
  type ReceivedMessage,
  startScriptedHost,
} from '../support/acquirers/scripted-host.ts';
import {
  attachHttpAcquirer,
  contractTermsOnLink,
} from '../support/acquirers/test-http-acquirer.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/payment/v1/transactions';

// Spec: ACQ-3
test('a host that signed off gets no requests until it signs on again', async (t) => {
  const host = await startScriptedHost();
  t.after(host.stop);
  const setup = await createTestOrganization({}, { acquirerPort: host.port });
  const bank = await attachHttpAcquirer(setup, 'standby');
  const { token, merchantId, merchantNumber } = setup.merchant;
  const terms = contractTermsOnLink(bank.linkId, { routing: [{ weight: 0 }] });
  await setup.platform.provisioning.acquirerContracts.create(
    { organizationId: setup.organizationId, merchantId },
    { currencies: ['EUR'], captureModes: ['Immediate'], clearCardData: 'Allowed', ...terms },
  );
  type Availability = { available: boolean; links: { name: string; available: boolean }[] };
  const readAvailability = async (): Promise<Availability> =>
    (await setup.client.call('GET', `${base}/technical/isAvailable`, { token })).body;
  const untilUp = (count: number) =>
    until(async () => {
      const { links } = await readAvailability();
      return links.length === 2 && links.filter(({ available }) => available).length === count;
    }, `${count} links to be up`);
  const sell = async () => {
    const call = { token, body: keyedSale() };
    const { body, text } = await setup.client.call('POST', `${base}/process`, call);
    assert.equal(body.state, 'Captured', text);
    return body.receipt.merchant.acquirerMerchantId;
  };
  await untilUp(2);
  assert.equal(await sell(), merchantNumber);

  const heldMessages: ReceivedMessage[] = [];
  host.script((received) => heldMessages.push(received));
  const fields = { 7: '0101120000', 11: '000007', 70: '002' };
  host.received.at(-1)?.socket.write(encodeMessageFrame({ mti: '0800', fields }));
  await untilUp(1);
  assert.equal((await readAvailability()).available, true);
  assert.equal(await sell(), terms.acquirerMerchantId);
  await until(() => heldMessages.some(({ message }) => message.fields[70] === '001'), 'a sign-on');
  assert.deepEqual(
    heldMessages.filter(({ message }) => !message.mti.startsWith('08')),
    [],
  );
  assert.equal(await sell(), terms.acquirerMerchantId);

  host.script(approve);
  for (const received of heldMessages) if (received.message.mti === '0800') approve(received);
  await untilUp(2);
  assert.equal(await sell(), merchantNumber);
});

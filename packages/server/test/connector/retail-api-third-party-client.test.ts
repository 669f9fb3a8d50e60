// A public third-party client at the Retail API: only its HTTP client is replaced.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import * as library from '@adyen/api-library';
import type { Json, Line } from './test-connector.ts';
import {
  heardBy,
  openRetailApi,
  paidOf,
  paymentOf,
  type RetailDevice,
  requestOf,
  type TestRetailApi,
} from './test-retail-api.ts';

describe('the public client', () => {
  let setup: TestRetailApi;
  let device: RetailDevice;
  let line: Line;
  let client: library.TerminalCloudAPI;
  const calls: { status: number; path: string }[] = [];

  /** Sends the client's request to the terminal that the POIID names. */
  async function request(endpoint: string, json: string): Promise<string> {
    const how = endpoint.endsWith('/async') ? 'async' : 'sync';
    const { POIID } = JSON.parse(json).SaleToPOIRequest.MessageHeader;
    const path = `/retail/v1/devices/${POIID}/${how}?posId=p1`;
    const answer = await setup.organization.client.call('POST', path, {
      token: setup.token,
      raw: json,
    });
    calls.push({ status: answer.status, path });
    if (answer.status >= 400) throw new Error(answer.body.code);
    return answer.text;
  }

  before(async () => {
    setup = await openRetailApi();
    device = await setup.device();
    line = await device.connect();
    const config = new library.Config({
      apiKey: 'unused',
      environment: library.EnvironmentEnum.TEST,
    } as never);
    const made = new library.Client(config);
    made.httpClient = { request } as never;
    client = new library.TerminalCloudAPI(made);
  });
  after(() => setup.close());

  // Spec: NEXO-29
  it('pays and waits for the answer', async () => {
    const paying = client.sync(paymentOf({ POIID: device.tsn }) as never);
    const heard = await heardBy(line);
    assert.equal(heard.header.MessageCategory, 'Payment');
    line.send(paidOf(heard));
    const { SaleToPOIResponse } = (await paying) as Json;
    assert.equal(SaleToPOIResponse.PaymentResponse.Response.Result, 'Success');
    const { AuthorizedAmount } = SaleToPOIResponse.PaymentResponse.PaymentResult.AmountsResp;
    assert.equal(AuthorizedAmount, 12.5);
    assert.equal(calls.at(-1)?.status, 200);
  });

  it('aborts, and is answered with nothing', async () => {
    const payment = paymentOf({ POIID: device.tsn });
    const paying = client.sync(payment as never);
    const heard = await heardBy(line);
    const { ServiceID = '', SaleID } = heard.header;
    const reference = { MessageCategory: 'Payment', ServiceID, SaleID };
    const abort = { AbortReason: 'MerchantAbort', MessageReference: reference };
    await client.sync(requestOf('Abort', abort, { POIID: device.tsn }) as never);
    assert.equal((await heardBy(line)).header.MessageCategory, 'Abort');
    line.send(paidOf(heard));
    const { SaleToPOIResponse } = (await paying) as Json;
    assert.equal(SaleToPOIResponse.PaymentResponse.Response.Result, 'Success');
  });

  // Spec: NEXO-29
  it('sends without waiting', async () => {
    const payment = paymentOf({ POIID: device.tsn });
    await client.async(payment as never);
    assert.equal(calls.at(-1)?.status, 202);
    line.send(paidOf(await heardBy(line)));
    const { ServiceID } = payment['SaleToPOIRequest'].MessageHeader;
    const path = `/retail/v1/devices/${device.tsn}/messages/${ServiceID}?wait=20`;
    const { body } = await setup.organization.client.call('GET', path, { token: setup.token });
    assert.equal(body.status, 'Answered');
  });

  it('receives a refusal of the terminal unchanged, and an error code of the platform for a repeated request', async () => {
    const payment = paymentOf({ POIID: device.tsn });
    const paying = client.sync(payment as never);
    const heard = await heardBy(line);
    const Response = { Result: 'Failure', ErrorCondition: 'Refusal', AdditionalResponse: 'no' };
    const header = { ...heard.header, MessageType: 'Response' };
    line.send({
      SaleToPOIResponse: { MessageHeader: header, PaymentResponse: { ...heard.body, Response } },
    });
    const { SaleToPOIResponse } = (await paying) as Json;
    assert.deepEqual({ ...SaleToPOIResponse.PaymentResponse.Response }, Response);
    for (const how of ['sync', 'async'] as const) {
      await assert.rejects(async () => client[how](payment as never), /service_id_reused/);
      assert.equal(calls.at(-1)?.status, 409);
    }
    const unknown = paymentOf({ POIID: 'AXIUM_DX8000-99999999' });
    await assert.rejects(async () => client.async(unknown as never), /device_unknown/);
  });

  it('receives an error code of the connector when the terminal is disconnected', async () => {
    line.socket.terminate();
    const [{ POIID }] = [{ POIID: device.tsn }];
    await assert.rejects(
      async () => client.sync(paymentOf({ POIID }) as never),
      /device_offline|device_disconnected/,
    );
  });
});

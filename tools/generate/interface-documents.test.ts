import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acquirerSpiDocument } from './acquirer-spi.ts';
import { providerSpiDocument } from './provider-spi.ts';

type Security = readonly Readonly<Record<string, unknown>>[];
type Operation = { readonly operationId: string; readonly security?: Security };
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;
type SpiDocument = {
  readonly info: { readonly license?: object };
  readonly security?: Security;
  readonly paths: Paths;
  readonly webhooks?: Paths;
  readonly components: { readonly securitySchemes?: Readonly<Record<string, unknown>> };
};

test('every operation of the SPI documents names a security scheme that is defined', () => {
  for (const text of [acquirerSpiDocument(), providerSpiDocument()]) {
    const document = JSON.parse(text) as SpiDocument;
    assert.ok(document.info.license !== undefined);
    const { securitySchemes = {} } = document.components;
    const items = Object.values({ ...document.paths, ...document.webhooks });
    for (const { operationId, security } of items.flatMap((item) => Object.values(item))) {
      const names = (security ?? document.security ?? []).flatMap((one) => Object.keys(one));
      assert.ok(names.length > 0, operationId);
      for (const name of names) assert.ok(Object.hasOwn(securitySchemes, name), operationId);
    }
  }
});

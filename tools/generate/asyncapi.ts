// docs/reference/asyncapi.json: the document that the platform serves at /asyncapi.json in the demo environment.
import { asyncApiDocument } from '@switchyard/contract';
import serverPackage from '../../packages/server/package.json' with { type: 'json' };

const urls = { baseUrl: 'https://localhost:8443', deviceUrl: 'https://localhost:9021' };

export const asyncApiText = (): string =>
  `${JSON.stringify(asyncApiDocument({ ...urls, version: serverPackage.version }), null, 2)}\n`;

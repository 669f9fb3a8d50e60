// The folder of the repository, which holds package.json.
import { resolve } from 'node:path';

export const repositoryRoot = resolve(import.meta.dirname, '..');

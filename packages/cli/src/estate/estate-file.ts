/** Reads and writes estate files in YAML or JSON; a file is checked completely when it is read. */

import { stringify } from 'yaml';
import { type DocumentPath, readCheckedDocument } from '../files/checked-document.ts';
import { parseEstateDocument, toDocument } from './convert-estate-document.ts';
import { estateSchema } from './estate-file-schema.ts';
import {
  type Estate,
  type Json,
  type Members,
  type Resource,
  resourceLabel,
} from './estate-model.ts';
import { resourceDefinition } from './resource-kinds.ts';

/** Errors beyond the schema: references to missing resources, and duplicates. */
function* findReferenceErrors(estate: Estate): Generator<{ path: DocumentPath; detail: string }> {
  const knownKeys = new Set(estate.resources.map((resource) => `${resource.kind} ${resource.key}`));
  for (const resource of estate.resources) {
    const path = resource.at ?? [];
    const isDuplicate =
      resource.key !== resourceDefinition(resource.kind).keyOf(resource.members) &&
      !resourceDefinition(resource.kind).hasId;
    if (isDuplicate)
      yield {
        path,
        detail: `${resourceLabel({ ...resource, key: resource.key.replace(/~\d+$/, '') })} is in the list twice`,
      };
    for (const { member, kind } of resourceDefinition(resource.kind).references) {
      if (!estate.managed.has(kind) || estate.only !== undefined) continue;
      for (const key of referencedKeys(resource, member)) {
        if (knownKeys.has(`${kind} ${key}`) || isForeignId(kind, key)) continue;
        yield {
          path: [...path, member],
          detail: `refers to a ${kind} “${key}” that the file does not have`,
        };
      }
    }
  }
  for (const each of estate.subOrganizations) yield* findReferenceErrors(each);
}

/** Services and packages of other organisations are referred to by id. */
export const isForeignId = (kind: Resource['kind'], key: string): boolean =>
  (kind === 'service' || kind === 'package') &&
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key);

export function referencedKeys(resource: Resource, member: string): readonly string[] {
  const value = resource.members[member];
  if (value === undefined) return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

/** Reports all errors of the file at once, with their lines. */
export function readEstateFile(file: string): Estate {
  const { value, requireNoErrors } = readCheckedDocument(file, estateSchema());
  const estate = parseEstateDocument(value as Members);
  requireNoErrors([...findReferenceErrors(estate)]);
  return estate;
}

/** The same estate always gives the same bytes. */
export function formatEstate(estate: Estate, isJson: boolean): string {
  const document: Json = toDocument(estate);
  if (isJson) return `${JSON.stringify(document, undefined, 2)}\n`;
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}

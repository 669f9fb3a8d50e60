/** Loads an entity of the estate, and reloads the estate after a change. */
import { reloadData } from '../../app/reload-data.ts';
import { useVersioned } from '../../app/versioned-resources.ts';

export const useVersionedEntity = <Body>(path: string) => useVersioned<Body>('estate', path);

/** Call this after each change, so that names, lists and pages reload. */
export const reloadEstate = (): void => reloadData('estate', 'names', 'name', 'has-one');

/**
 * Reads and changes the filters of a list in the page address, so users can share and restore them.
 */
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { useSearchParams } from '../app/url-params.ts';

export type FilterValues<Name extends string> = Readonly<Partial<Record<Name, string>>>;

export function useFilters<Name extends string>(
  names: readonly Name[],
): [FilterValues<Name>, (change: FilterValues<Name>) => void] {
  const search = useSearchParams();
  const navigate = useNavigate();
  const list = names.join(' ');
  const values = useMemo(() => {
    const filterNames = list.split(' ') as Name[];
    const setNames = filterNames.filter(
      (name) => search[name] !== undefined && search[name] !== '',
    );
    return Object.fromEntries(setNames.map((name) => [name, search[name]])) as FilterValues<Name>;
  }, [search, list]);
  const change = useCallback(
    (next: FilterValues<Name>) => {
      void navigate({
        to: '.',
        replace: true,
        search: ((before: Record<string, string>) =>
          Object.fromEntries(
            Object.entries({ ...before, ...next }).filter(([, value]) => value !== ''),
          )) as never,
      });
    },
    [navigate],
  );
  return [values, change];
}

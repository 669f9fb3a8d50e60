/** The story of an import in the browser: tried, sent, broken off, gone on with, done. */
import type { BulkResult } from '@switchyard/contract';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useEstateChanged } from '../estate/versioned-entities.ts';
import type { ImportFile } from './parse-import-file.ts';
import { runImport, type Summary } from './run-import.ts';

export type Stage =
  | { readonly at: 'ready' }
  | { readonly at: 'running'; readonly isTrial: boolean; readonly lines: number }
  | {
      readonly at: 'done';
      readonly isTrial: boolean;
      readonly results: readonly BulkResult[];
      readonly summary: Summary;
      readonly run: number;
    }
  | { readonly at: 'broken'; readonly isTrial: boolean; readonly fault: unknown };

export function useImport() {
  const [stage, setStage] = useState<Stage>({ at: 'ready' });
  const control = useRef<AbortController | undefined>(undefined);
  const runs = useRef(0);
  const changed = useEstateChanged();

  // Whoever leaves the page leaves the import: the platform keeps what it has, and it can be gone on with.
  useEffect(() => () => control.current?.abort(), []);

  const start = useCallback(
    async (file: ImportFile, bulkId: string, isTrial: boolean): Promise<void> => {
      // State comes too late for the second of two quick presses.
      if (control.current !== undefined) return;
      const controller = new AbortController();
      control.current = controller;
      runs.current += 1;
      const run = runs.current;
      setStage({ at: 'running', isTrial, lines: 0 });
      try {
        const { results, summary } = await runImport({
          file,
          bulkId,
          isTrial,
          signal: controller.signal,
          onProgress: (lines) => setStage({ at: 'running', isTrial, lines }),
        });
        setStage({ at: 'done', isTrial, results, summary, run });
        if (!isTrial) changed();
      } catch (fault) {
        if (!controller.signal.aborted) setStage({ at: 'broken', isTrial, fault });
      } finally {
        if (control.current === controller) control.current = undefined;
      }
    },
    [changed],
  );

  const reset = useCallback(() => {
    control.current?.abort();
    control.current = undefined;
    setStage({ at: 'ready' });
  }, []);

  return { stage, start, reset };
}

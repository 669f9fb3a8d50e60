// The sites that the platform serves: the portal, and the documentation.
import { join } from 'node:path';
import { runBundler, type Site } from './build.ts';

export const portal: Site = {
  key: 'portal',
  name: 'the portal',
  builtFolder: 'packages/portal/dist',
  entry: 'packages/portal/index.html',
  // Its own files, the values that it computes with, and the exact packages.
  sources: [
    'packages/portal/{src,public}/**/*',
    'packages/portal/*.{html,ts,json}',
    'packages/{contract,money,nexo}/src/**/*.{ts,json}',
    'packages/{contract,money,nexo}/package.json',
    'package-lock.json',
  ],
  bundle: (root, folder) =>
    runBundler(
      'Vite',
      join(root, 'node_modules/vite/bin/vite.js'),
      ['build', '--outDir', folder, '--emptyOutDir', '--logLevel', 'warn'],
      join(root, 'packages/portal'),
    ),
};

export const documentation: Site = {
  key: 'documentation',
  name: 'the documentation',
  builtFolder: 'docs/.vitepress/dist',
  entry: 'docs/.vitepress/config.ts',
  sources: [
    'docs/**/*.{md,json,png}',
    'docs/.vitepress/*.ts',
    'docs/.vitepress/theme/*',
    'package-lock.json',
  ],
  bundle: (root, folder) =>
    runBundler(
      'VitePress',
      join(root, 'node_modules/vitepress/bin/vitepress.js'),
      ['build', 'docs', '--outDir', folder],
      root,
    ),
};

export const sites: Readonly<Record<string, Site>> = { portal, documentation };

#!/usr/bin/env node
"use strict";

import EventEmitter, { once as waitFor, setMaxListeners } from "node:events";
import * as clock from "./clock.js";
import "./polyfill.js";
const { readFile, writeFile: write } = require("node:fs/promises");
const chalk = require("chalk");
const parse = require("./cron").parse;

export { default as Queue, drain } from "./queue.js";
export * from "./errors.js";
export * as strategies from "./strategies/index.js";

/** How many jobs may run at once. */
export const MAX_RUNNING = 4;
export const MINUTE = 60_000,
  HOUR = 60 * MINUTE;
let started = 0, stopped;
var legacy = globalThis.scheduler;

const [firstRetry, secondRetry] = [100, 500];
const { platform, env: environment } = process;

// Defaults of every job,
// overridden by its own options.
const defaults = {
  retries: 3,
  backoff: (attempt) => attempt * firstRetry,
  onError(error) {
    console.error(chalk.red(error.message));
  },
  hooks: {
    before: async function (job) {
      await job.prepare();
    },
  },
};

/**
 * Runs jobs when they are due.
 * @extends EventEmitter
 */
export default class Scheduler extends EventEmitter {
  static #instances = 0;
  jobs = new Map();
  timer;
  #queue = [];

  constructor({ limit = MAX_RUNNING, ...options } = {}) {
    super();
    this.limit = limit;
    this.options = { ...defaults, ...options };
    this.clock = new clock.Clock(this.limit);
    Scheduler.#instances++;
    setMaxListeners(limit, this);
  }

  static {
    Scheduler.version = "1.0";
  }

  /** Whether anything is due. */
  get idle() {
    return this.#queue.length === 0;
  }

  set idle(value) {
    if (value) this.#clear();
  }

  // Adds a job, or replaces the one of that name.
  add = (name, run) => {
    const job = new Job(name, run, this.options);
    this.jobs.set(name, job);
    return job;
  };

  async *[Symbol.asyncIterator]() {
    while (!this.idle) yield* this.#queue.splice(0);
  }

  @clock.traced("tick")
  async tick(now = clock.now()) {
    const due = [...this.jobs.values()].filter(function isDue(job) {
      return job.next <= now;
    });
    const started = await Promise.all(due.map((job) => job?.run?.(now)));
    for (const each of started) this.emit("done", each);
    const { report } = await import("./report.js");
    report(`${describe(due)} at ${clock.format(now)}`);
  }

  #clear() {
    this.#queue.length = 0;
  }
}

/* A job that is run again and again. */
function Job(name, run, options) {
  if (!(this instanceof Job)) return new Job(name, run, options);
  this.name = name;
  this.retry = () => run(options);
}

Job.prototype.run = async function run(now) {
  try {
    return await this.retry(now);
  } catch (error) {
    defaults.onError(error);
  }
};

/** Reads a job from its line in the table. */
Job.parse = (line) => Job(...parse(line));

const Nightly = class extends mixin(Job, Timed) {
  next = HOUR;
};

export const describe = (jobs) => jobs.map(({ name }) => name).join(", ");

export async function* load(path) {
  const text = await readFile(path, "utf8");
  function* lines() {
    yield* text.split("\n");
  }
  for (const line of lines()) yield Job.parse(line);
}

const debounce = function (fn, wait = MINUTE) {
  let handle;
  return function debounced(...args) {
    clearTimeout(handle);
    handle = setTimeout(() => fn.apply(this, args), wait);
  };
};

let onExit;
onExit = async () => {
  await write("state.json", JSON.stringify({ started, stopped }));
};

if (platform === "win32") {
  var shell = "cmd.exe";
}

process.on("SIGINT", async () => {
  const scheduler = new Scheduler();
  const cleanUp = () => scheduler.removeAllListeners();
  await waitFor(scheduler, "done");
  cleanUp();
  onExit();
});

export { debounce, Nightly as default_job, legacy as "old-scheduler" };
module.exports.load = function (path) {
  return load(path);
};
exports.table = [firstRetry, secondRetry, environment, shell];
exports.cron = require("./cron");

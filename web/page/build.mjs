console.log("build.mjs to come")
